import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerOf, message } from './camera-messages.ts';

/**
 * So many scripted cameras in one process, each of which sees motion come and go `perSecond` times in all; prints their addresses as
 * one JSON list and runs until SIGTERM. A message's time is `due;sent`, milliseconds of this machine's clock: when the camera
 * had it, and when its answer was written.
 */
const [count = 64, perSecond = 16] = process.argv.slice(2).map(Number);
const mostPerPull = 100;
const now = () => performance.timeOrigin + performance.now();

const stamps = () => {
  const at = Date.now();
  const [current, end] = [at, at + 600_000].map((ms) => new Date(ms).toISOString());
  return { current: current ?? '', end: end ?? '' };
};

async function startCamera(): Promise<string> {
  let began = 0;
  let sent = 0;
  const dueAt = (number: number) => began + (number / perSecond) * 1000;
  const pull = async () => {
    if (began === 0) began = now();
    const waitMs = dueAt(sent) - now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    const written = now().toFixed(3);
    let messages = '';
    for (let at = 0; at < mostPerPull && dueAt(sent) <= now(); at += 1) {
      messages += message(sent % 2 === 0, `${dueAt(sent).toFixed(3)};${written}`);
      sent += 1;
    }
    const { current, end } = stamps();
    return `<tev:PullMessagesResponse><tev:CurrentTime>${current}</tev:CurrentTime><tev:TerminationTime>${end}</tev:TerminationTime>${messages}</tev:PullMessagesResponse>`;
  };
  const answer = async (body: string): Promise<string> => {
    const { current, end } = stamps();
    if (body.includes('PullMessages')) return pull();
    if (body.includes('CreatePullPoint'))
      return `<tev:CreatePullPointSubscriptionResponse><tev:SubscriptionReference><a:Address>${url}/sub</a:Address></tev:SubscriptionReference><w:CurrentTime>${current}</w:CurrentTime><w:TerminationTime>${end}</w:TerminationTime></tev:CreatePullPointSubscriptionResponse>`;
    return '<tds:Response/>';
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', async () => {
      const body = answerOf(await answer(Buffer.concat(chunks).toString()));
      response.writeHead(200, { 'content-type': 'application/soap+xml', 'content-length': Buffer.byteLength(body) });
      response.end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/onvif`;
  return url;
}

console.log(JSON.stringify(await Promise.all(Array.from({ length: count }, startCamera))));
process.once('SIGTERM', () => process.exit(0));
