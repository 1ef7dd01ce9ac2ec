// The protocol version on the wire. New members are always optional, so it changes only when an old client would break.

export const protocolVersion = 'exec-server.v0';
