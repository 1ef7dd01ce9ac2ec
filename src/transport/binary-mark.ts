// The byte that tells our binary frames from everything else, on a stream and in a WebSocket's binary messages.

/** No JSON text starts with it. */
export const binaryMark = 0x01;
