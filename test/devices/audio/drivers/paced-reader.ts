/** A sound card's clock: takes samples from its input no faster than they last. */
import { appendFileSync, openSync, readSync, writeSync } from 'node:fs';

const [out = '', pidFile = '', bytesPerSecond = ''] = process.argv.slice(2);
const chunk = Buffer.alloc(1920);
appendFileSync(pidFile, `${process.pid}\n`);
const file = openSync(out, 'a');
let start: number | undefined;
let taken = 0;
for (;;) {
  const read = readSync(0, chunk);
  if (read === 0) break;
  start ??= performance.now();
  writeSync(file, chunk, 0, read);
  taken += read;
  const early = start + (taken * 1000) / Number(bytesPerSecond) - performance.now();
  if (early > 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, early);
}
