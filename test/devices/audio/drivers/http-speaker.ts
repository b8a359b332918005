/** A speaker that is sent samples by HTTP: writes down what comes, and answers when it has all. Ends when its input does. */
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const [out = ''] = process.argv.slice(2);
const server = createServer((request, response) => {
  if (request.method === 'GET') return void response.end('well');
  request.on('data', (bytes: Buffer) => appendFileSync(out, bytes));
  request.on('error', () => undefined);
  request.on('end', () => response.end());
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
process.stdin.on('end', () => process.exit()).resume();
