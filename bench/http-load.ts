import { Agent, request } from 'node:https';
import { sleep } from '#lib/wait.ts';

/**
 * So many requests a second for `GET /api/v1/status`, evenly, over a few kept connections. The clock of a request runs from the moment it
 * was due, so that waiting for a connection counts. Prints one line of JSON and ends.
 */
const [url = '', key = '', perSecond = '1000', forS = '30', connections = '20'] = process.argv.slice(2);
const never = new AbortController().signal;
// The site's own certificate; whom the bench talks to is beyond doubt.
const agent = new Agent({ keepAlive: true, maxSockets: Number(connections), rejectUnauthorized: false });
const tookMs: number[] = [];
const others: Record<string, number> = {};
let bytes = 0;
let open = 0;

function ask(due: number): void {
  open += 1;
  const count = (what: string) => {
    others[what] = (others[what] ?? 0) + 1;
  };
  const call = request(`${url}/api/v1/status`, { agent, headers: { authorization: `Bearer ${key}` } }, (answer) => {
    answer.on('data', (piece: Buffer) => {
      bytes += piece.length;
    });
    answer.on('end', () => {
      open -= 1;
      if (answer.statusCode === 200) tookMs.push(performance.now() - due);
      else count(String(answer.statusCode));
    });
  });
  call.on('error', (error) => {
    open -= 1;
    count(error.message);
  });
  call.end();
}

const began = performance.now();
const all = Number(perSecond) * Number(forS);
for (let sent = 0; sent < all; await sleep(2, never))
  for (; sent < all && sent < ((performance.now() - began) / 1000) * Number(perSecond); sent += 1)
    // What cannot be sent in time is not piled up without end.
    if (open < 5000) ask(began + (sent * 1000) / Number(perSecond));
const sendingS = (performance.now() - began) / 1000;
for (let n = 0; open > 0 && n < 100; n += 1) await sleep(100, never);
const answered = tookMs.length;
const seconds = Math.max(sendingS, Number(forS));
process.stdout.write(
  `${JSON.stringify({ load: { answered, seconds, others, bytes: Math.round(bytes / Math.max(1, answered)), tookMs } })}\n`,
);
agent.destroy();
