import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';

/**
 * Opens event streams, several for each key, and reads them. Prints `{"streams":"open"}`; for the line `report` on stdin what each has seen
 * by now; ends with SIGTERM.
 */
const [url = '', each = '4', ...keys] = process.argv.slice(2);

interface Seen {
  first: number;
  last: number;
  events: number;
  /** Numbers that did not follow the one before. */
  wrong: number;
  gaps: number;
}
const streams: Seen[] = [];

function open(key: string): Promise<void> {
  const seen: Seen = { first: 0, last: 0, events: 0, wrong: 0, gaps: 0 };
  streams.push(seen);
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}` };
    const call = request(`${url}/api/v1/stream?topics=events`, { headers, agent: false, rejectUnauthorized: false });
    call.on('error', reject);
    call.on('response', (answer: IncomingMessage) => {
      if (answer.statusCode !== 200) return reject(new Error(`status ${answer.statusCode}`));
      let rest = '';
      answer.setEncoding('utf8');
      answer.on('data', (piece: string) => {
        const lines = (rest + piece).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) take(seen, line);
      });
      resolve();
    });
    call.end();
  });
}

let isEvent = false;
function take(seen: Seen, line: string): void {
  if (line.startsWith('event: ')) isEvent = line === 'event: event';
  if (line === 'event: gap') seen.gaps += 1;
  if (!line.startsWith('id: ') || !isEvent) return;
  const seq = Number(line.slice(4));
  if (seen.events > 0 && seq !== seen.last + 1) seen.wrong += 1;
  if (seen.events === 0) seen.first = seq;
  seen.last = seq;
  seen.events += 1;
}

for (const key of keys) for (let n = 0; n < Number(each); n += 1) await open(key);
process.stdout.write('{"streams":"open"}\n');
process.stdin.setEncoding('utf8');
process.stdin.on('data', () => process.stdout.write(`${JSON.stringify({ seen: streams })}\n`));
