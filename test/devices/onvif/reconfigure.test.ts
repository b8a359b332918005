import { afterEach, expect, it } from 'vitest';
import { Secret } from '#lib/secret.ts';
import { links, rig, until } from './harness.ts';

const site = rig(afterEach);
const login = { username: 'u', password: new Secret('pass') };

it('swaps the devices whose settings changed, and no other', async () => {
  const [yard, hall, gate] = [await site.camera(), await site.camera(), await site.camera()];
  const [one, two, three] = [
    { id: 'yard', url: yard.server.url },
    { id: 'hall', url: hall.server.url, ...login },
    { id: 'gate', url: gate.server.url },
  ];
  const made = await site.run([one, two]);
  const up = () => made.cameras.status().filter(({ state }) => state === 'pulling');
  await until(() => up().length === 2, 'events of both');
  const before = [yard.model.made, links(made.signals).length];

  // A secret alone is another setting, too.
  await made.cameras.reconfigure({ cameras: [three, one, { ...two, password: new Secret('other') }] });
  await until(() => up().length === 3, 'events of three');
  expect(made.cameras.status().map(({ id }) => id)).toEqual(['gate', 'yard', 'hall']);
  expect([yard.model.made, links(made.signals).length]).toEqual([before[0], (before[1] ?? 0) + 2]);
  expect(hall.model).toMatchObject({ made: 2 });
  expect(hall.model.live.size).toBe(1);

  await made.cameras.reconfigure({ cameras: [one] });
  expect([gate.model.live.size, hall.model.live.size, yard.model.made]).toEqual([0, 0, before[0]]);
  await expect(made.cameras.snapshot('gate', new AbortController().signal)).rejects.toMatchObject({
    code: 'camera_unreachable',
  });
  expect(await made.metrics.metrics()).not.toMatch(/camera="(gate|hall)"/);
});

it('answers that it is stopped while a device is swapped, so that whoever asks comes again', async () => {
  const [yard, hall] = [await site.camera(), await site.camera()];
  const made = await site.run([{ id: 'yard', url: yard.server.url }]);
  await until(() => made.cameras.health().state === 'ok', 'events');
  const swap = made.cameras.reconfigure({ cameras: [{ id: 'yard', url: hall.server.url }] });
  await expect(made.cameras.snapshot('yard', new AbortController().signal)).rejects.toMatchObject({ code: 'stopped' });
  await swap;
  await until(() => hall.model.made === 1, 'events of the other');
});
