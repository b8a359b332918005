import { afterEach, describe, expect, it } from 'vitest';
import { eightOf, nonces, threeDoors } from './three-doors.ts';

const opened: { stop(): Promise<void> | void }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.stop();
});

/** Many cameras lock an account at the fifth wrong password in a row, whichever door it came to. */
describe.each(nonces)('tries of one account at a device with $name', ({ made }) => {
  it('are two in all where the password is wrong from the beginning', async () => {
    const { tries, run, change } = await threeDoors(made(), opened);
    change();
    await run(180_000);
    expect(tries).toEqual(['events', 'events']);
  });

  it('are two in all where it tells anybody what device it is, and the events take them', async () => {
    const { doors, tries, ask, run, change } = await threeDoors(made(), opened);
    doors.open = 'GetDeviceInformation';
    change();
    await eightOf(ask);
    await Promise.allSettled([ask.picture(), ask.stream()]);
    await run(180_000);
    expect(tries).toEqual(['events', 'events']);
  });

  it('are four in all where it came back with another password', async () => {
    const { doors, tries, run, change } = await threeDoors(made(), opened);
    await run(10_000);
    expect(new Set(tries)).toEqual(new Set(['events', 'picture', 'stream', 'speaker']));
    doors.isAway = true;
    await run(20_000);
    doors.isAway = false;
    change();
    tries.length = 0;
    await run(180_000);
    expect(new Set(tries)).toEqual(new Set(['events']));
    expect(tries.length).toBeLessThanOrEqual(4);
  });

  it('are four in all where it was changed while all was well', async () => {
    const { refused, run, change } = await threeDoors(made(), opened);
    await run(20_000);
    change();
    await run(180_000);
    expect(refused.length).toBeLessThanOrEqual(4);
  });

  it('go on at all three when it is back with the same password', async () => {
    const { doors, tries, refused, run } = await threeDoors(made(), opened);
    await run(10_000);
    doors.isAway = true;
    await run(20_000);
    doors.isAway = false;
    tries.length = 0;
    await run(10_000);
    expect(new Set(tries)).toEqual(new Set(['events', 'picture', 'stream', 'speaker']));
    expect(refused).toEqual([]);
  });

  it('are two of a door that has another user, and none of them ends the others', async () => {
    const { doors, refused, ask, run } = await threeDoors(made(), opened);
    doors.passes = (door, tried) => tried && door !== 'stream';
    await run(180_000);
    expect(refused).toEqual(['stream', 'stream']);
    await expect(ask.picture()).resolves.toMatchObject({ mime: 'image/jpeg' });
    await expect(ask.events()).resolves.toMatchObject({ model: '007' });
  });

  it('are two of a speaker whose user may not talk, and none of them ends the others', async () => {
    const { doors, refused, ask, run, restart } = await threeDoors(made(), opened);
    doors.passes = (door, tried) => tried && door !== 'speaker';
    await run(120_000);
    restart();
    await run(60_000);
    expect(refused).toEqual(['speaker', 'speaker']);
    await expect(ask.speaker()).rejects.toMatchObject({ failure: 'auth', message: expect.stringContaining('Correct') });
    await expect(ask.picture()).resolves.toMatchObject({ mime: 'image/jpeg' });
    await expect(ask.stream()).resolves.toContain('200 OK');
  });

  it('are two of a stream that has another user, and are four in all after a change, however many are read at once', async () => {
    const { doors, refused, ask } = await threeDoors(made(), opened);
    doors.passes = (door, tried) => tried && door !== 'stream';
    await ask.events();
    const first = await eightOf(ask);
    expect(refused).toEqual(['stream', 'stream']);
    expect(first.map((one) => one.status)).toEqual(Array(8).fill('rejected'));

    const other = await threeDoors(made(), opened);
    await other.run(10_000);
    other.change();
    await eightOf(other.ask);
    await other.run(180_000);
    expect(other.refused.length).toBeLessThanOrEqual(4);
  });

  it.each(['there', 'no ONVIF'] as const)(
    'are two in all, of pictures and streams, where its SOAP (%s) never asks for a password',
    async (soap) => {
      const { doors, refused, ask, run, change } = await threeDoors(made(), opened);
      doors.soap = soap;
      doors.passes = (door, tried) => tried || door === 'events';
      await expect(ask.picture()).resolves.toMatchObject({ mime: 'image/jpeg' });
      await expect(ask.stream()).resolves.toContain('200 OK');
      change();
      doors.passes = (door) => door === 'events';
      await eightOf(ask);
      await run(180_000);
      expect(refused).toHaveLength(2);
    },
  );

  it('are none for a stream that wants no password, whatever SOAP says', async () => {
    const { doors, tries, ask } = await threeDoors(made(), opened);
    doors.soap = 'away';
    doors.passes = (door, tried) => tried || door === 'stream';
    await expect(ask.stream()).resolves.toContain('200 OK');
    expect(tries).toEqual([]);
  });

  it('go on where it was accepted while SOAP is away, and are four in all when it is changed then', async () => {
    const { doors, refused, ask, run, change } = await threeDoors(made(), opened);
    await run(10_000);
    doors.soap = 'away';
    await run(20_000);
    await expect(ask.picture()).resolves.toMatchObject({ mime: 'image/jpeg' });
    await expect(ask.stream()).resolves.toContain('200 OK');
    change();
    await eightOf(ask);
    await run(180_000);
    expect(refused).toHaveLength(2);
    doors.soap = 'there';
    await run(180_000);
    expect(refused.length).toBeLessThanOrEqual(4);
  });

  it('go on after a lost stream where it tells anybody what device it is', async () => {
    const { doors, refused, device, ask } = await threeDoors(made(), opened);
    doors.open = 'GetDeviceInformation';
    await ask.profiles();
    device.doubt();
    await expect(ask.picture()).resolves.toMatchObject({ mime: 'image/jpeg' });
    expect(refused).toEqual([]);
  });
});
