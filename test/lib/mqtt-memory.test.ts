import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { writeToStream } from 'mqtt-packet';
import { test } from 'vitest';
import { spareMemory } from '#lib/mqtt.ts';
import { until } from '../harness/until.ts';

const mib = 1024 ** 2;

test('packets of a thousand different lengths leave next to nothing in memory', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  spareMemory();
  const sink = { write: () => true } as unknown as NodeJS.WritableStream;
  const payload = Buffer.allocUnsafeSlow(2000);
  const send = (bytes: number) => {
    const packet = { cmd: 'publish', topic: 'a', qos: 0, retain: false, dup: false } as const;
    writeToStream({ ...packet, payload: payload.subarray(0, bytes) }, sink as never);
  };
  collect();
  const before = process.memoryUsage().arrayBuffers;
  for (let bytes = 500; bytes < 1500; bytes += 1) {
    send(bytes);
    // What else a process does meanwhile: more than one slab of Node's own size.
    for (let left = 100; left > 0; left -= 1) Buffer.allocUnsafe(900);
  }
  // What is free is given back in threads of its own, sooner or later.
  await until(() => {
    collect();
    return (process.memoryUsage().arrayBuffers - before) / mib < 5;
  }, 'less than 5 MiB to be left');
});
