import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';

const program = `
  const server = require('node:net').createServer().listen({ host: '127.0.0.1', port: 0, backlog: 1 }, () => {
    require('node:fs').writeSync(1, String(server.address().port));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });`;

/** A port of this machine at which connecting hangs, as with a camera whose cable was cut: nobody takes what waits in the line before it. */
export async function startDeafHost(): Promise<{ readonly host: string; stop(): Promise<void> }> {
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = await once(child.stdout, 'data');
  const line = Array.from({ length: 8 }, () =>
    connect({ host: '127.0.0.1', port: Number(port) }).on('error', () => undefined),
  );
  // Two are in the line by then, and the others never will be.
  await Promise.race(line.map((socket) => once(socket, 'connect')));
  return {
    host: `127.0.0.1:${port}`,
    async stop() {
      for (const socket of line) socket.destroy();
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
  };
}
