// What `sluice agent` can be asked to do.

export const agentActions = ['run', 'resume', 'logs', 'usage'] as const;
