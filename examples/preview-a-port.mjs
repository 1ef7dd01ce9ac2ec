// Starts a web server on the server's machine, learns from an event on which port it listens, and opens that port on this machine.
//
//   node examples/preview-a-port.mjs

import assert from 'node:assert/strict';
import { connectInProcess } from 'sluice';

const webServer = `
  const server = require('node:http').createServer((request, reply) => reply.end('this is ' + request.url));
  server.listen(0, '127.0.0.1');
`;

const client = connectInProcess({ network: { forward: 'on' } }); // a server needs --allow-forward

try {
  const web = await client.start({ argv: [process.execPath, '-e', webServer] });
  for await (const event of client.portEvents()) {
    if (event.type !== 'opened' || event.processId !== web.id) continue;
    const forward = await client.forward({ remote: { port: event.port } });
    assert.ok('port' in forward.address);
    const reply = await fetch(`http://127.0.0.1:${forward.address.port}/preview`, { headers: { connection: 'close' } });
    const text = await reply.text();
    assert.equal(text, 'this is /preview');
    console.log(text);
    await forward.close();
    break; // ends the events
  }
} finally {
  await client.close(); // ends the web server
}
