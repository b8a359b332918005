import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { cameraHttp } from '#devices/onvif/http.ts';

const opened: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

const get = (http: ReturnType<typeof cameraHttp>, url: string, more = {}) =>
  http.request({
    url: new URL(url),
    method: 'GET',
    timeoutMs: 5000,
    maxBytes: 1000,
    lane: 'call',
    signal: new AbortController().signal,
    ...more,
  });

/** Answers every connection with these bytes. */
async function raw(bytes: string): Promise<string> {
  const server: Server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(bytes));
  });
  return listen(server);
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  opened.push(async () => {
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

function client(options = {}) {
  const http = cameraHttp(options);
  opened.push(() => http.close());
  return http;
}

describe('a request to a camera', () => {
  it('reads the sloppy HTTP of old firmware', async () => {
    const url = await raw('HTTP/1.0 200 OK\nContent-Type: text/xml\nX-Odd: caf\xe9\n\n<a/>');
    const reply = await get(client(), url);
    expect([reply.status, Buffer.from(reply.body).toString()]).toEqual([200, '<a/>']);
  });

  it('keeps several challenges apart', async () => {
    const url = await raw(
      'HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm="a"\r\nwww-authenticate: Digest nonce="1"\r\nContent-Length: 0\r\n\r\n',
    );
    expect((await get(client(), url)).challenges).toEqual(['Basic realm="a"', 'Digest nonce="1"']);
  });

  it.each([
    ['no HTTP', 'SSH-2.0-dropbear\r\n', 'camera_bad_answer'],
    ['nothing', '', 'camera_unreachable'],
    ['half an answer', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc', 'camera_unreachable'],
    ['too much', `HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(2000)}`, 'camera_bad_answer'],
  ])('that is answered with %s ends with a typed error', async (_, bytes, code) => {
    await expect(get(client(), await raw(bytes))).rejects.toMatchObject({ code });
  });

  it('has one deadline for everything, also where bytes drip', async () => {
    const server = createServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      const timer = setInterval(() => socket.write('x'), 20);
      socket.on('close', () => clearInterval(timer));
      socket.on('error', () => undefined);
    });
    const url = await listen(server);
    await expect(get(client(), url, { timeoutMs: 150 })).rejects.toMatchObject({ code: 'deadline' });
  });

  it('ends at once when its signal does', async () => {
    const url = await listen(createServer(() => undefined));
    const leave = new AbortController();
    const waiting = get(client(), url, { signal: leave.signal });
    leave.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
  });
});
