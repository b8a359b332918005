import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';

/**
 * The real worker, which dies where a marker file in the state directory says: `die-before` when a request arrives,
 * `die-after` when all is committed but not answered, `die-at-start` before it opens anything. A marker counts once;
 * `die-always` stays.
 */
const marked = (name: string): boolean => {
  const path = join(workerData.dir, name);
  const there = existsSync(path);
  if (there && name !== 'die-always') rmSync(path);
  return there;
};
const die = (): never => process.exit(3);

if (parentPort === null) throw new Error('runs as a worker only');
if (marked('die-at-start')) die();
parentPort.on('message', (message: { kind: string }) => {
  if (message.kind === 'requests' && (marked('die-before') || marked('die-always'))) die();
});
const post = parentPort.postMessage.bind(parentPort);
parentPort.postMessage = (message: { kind: string }) => {
  if (message.kind === 'replies' && marked('die-after')) die();
  post(message);
};
await import('../../../src/site/store/worker.ts');
