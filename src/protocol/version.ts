// Names that both sides of a connection must spell alike.

/** New members are always optional, so the version changes only when an old client would break. */
export const protocolVersion = 'exec-server.v0';

/** The WebSocket subprotocol that a server selects. A browser offers it along with its token, and closes if no offer is accepted. */
export const subprotocol = 'sluice.v0';

/** The offer that carries the token, in base64url: subprotocols are the only header that browsers can set. */
export const bearerSubprotocolPrefix = 'sluice.bearer.';
