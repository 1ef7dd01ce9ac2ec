// The protocol's name on the wire. New members are always optional, so the name changes only when an old client would break.

export const protocolVersion = 'exec-server.v0';
