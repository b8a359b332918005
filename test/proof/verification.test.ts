import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { codes, contact, startVerificationSite, type VerificationSite } from '../verification/rig.ts';

/** An answer survives a kill at every point, an outage, and a backlog of events. */
let site: VerificationSite;
beforeAll(async () => {
  site = await startVerificationSite({ broker: 'mosquitto' });
}, 60_000);
afterAll(() => site?.close());

const asked = async () => {
  const id = await site.requested(600);
  await site.handOn({
    verification_id: id,
    contact_id: contact,
    expires_at: new Date(Date.now() + 590_000).toISOString(),
  });
  return id;
};
const answer = (id: string, action: string, more: object = {}) =>
  site.verify({ verification_id: id, action, code: codes.anna, ...more });
const recorded = (id: string, action: string) =>
  eventually(
    `the service has ${action}`,
    async () => {
      const found = await site.recorded(id);
      return found?.action === action ? found : undefined;
    },
    { timeoutMs: 40_000 },
  );

describe('an answer', () => {
  test('given while the line is cut outlives kill -9 of the daemon; a dispatch after it ends a disregard that waits', {
    timeout: 90_000,
  }, async () => {
    const id = await asked();
    await site.line.cut();
    const pressed = new Date().toISOString();
    const first = await answer(id, 'disregard', { responded_at: pressed });
    expect(first.map(({ outcome, final }) => `${outcome} ${final}`)).toEqual(['accepted false', 'done true']);
    expect(first.at(-1)?.data?.verification?.state).toBe('waiting');
    await site.daemon.kill();
    await site.daemon.restart();
    expect((await site.list()).find((one) => one.verification_id === id)).toMatchObject({
      state: 'waiting',
      answers: [{ action: 'disregard', by: 'anna', responded_at: pressed }],
    });
    expect((await answer(id, 'dispatch')).at(-1)).toMatchObject({ outcome: 'done' });
    await site.daemon.kill();
    await site.line.restore();
    await site.daemon.restart();
    await recorded(id, 'dispatch');
    await eventually('its end', async () => ((await site.state(id)) === 'recorded' ? true : undefined));
    expect(await site.heard(id)).toEqual(['PATCH 200']);
    const [before, after] = (await site.list()).find((one) => one.verification_id === id)?.answers ?? [];
    expect(before).toMatchObject({ action: 'disregard', fate: 'unsent', reason: 'OVERRIDDEN', responded_at: pressed });
    expect([after?.action, after?.fate]).toEqual(['dispatch', 'recorded']);
  });

  /** Asks, starts the daemon so that it will end at the point, answers, and looks at what is left in the next life. */
  async function crashAt(point: string): Promise<'in the start' | 'around the answer' | 'never'> {
    const id = await asked();
    const started = await site.daemon.restart({ SITEWARD_CRASH_AT: point }).then(
      () => true,
      () => false,
    );
    const told = started ? await Promise.race([answer(id, 'dispatch'), gone()]) : 'gone';
    if (told !== 'gone') await recorded(id, 'dispatch');
    const crashed = await gone(told === 'gone' ? 30_000 : 1500);
    await site.daemon.restart();
    const kept = (await site.list()).find((one) => one.verification_id === id);
    // What was acknowledged is there; what was not may be, and can be given again.
    if (told !== 'gone') expect(kept?.answers).toMatchObject([{ action: 'dispatch' }]);
    expect(kept).toBeDefined();
    if (kept?.answers.length === 0) await answer(id, 'dispatch');
    await recorded(id, 'dispatch');
    expect(new Set(await site.heard(id))).toEqual(new Set(['PATCH 200']));
    return !started ? 'in the start' : crashed === 'gone' ? 'around the answer' : 'never';
  }

  const gone = (timeoutMs = 60_000) =>
    site.daemon.ended(timeoutMs).then(
      () => 'gone' as const,
      () => 'there' as const,
    );

  test.each(['answer.before', 'answer.after'])(
    'of which the daemon ends at %s reaches the service',
    { timeout: 90_000 },
    async (point) => {
      expect(await crashAt(point)).toBe('around the answer');
    },
  );

  test.each(['commit.begun', 'commit.committed'])(
    'of which the daemon ends at any %s around it is kept or was not acknowledged',
    { timeout: 280_000 },
    async (point) => {
      const ends: string[] = [];
      for (let nth = 2; nth <= 7 && ends.at(-1) !== 'never'; nth += 1) ends.push(await crashAt(`${point}:${nth}`));
      expect(ends).toContain('around the answer');
    },
  );

  test('waits behind no event: with a backlog the cloud does not take, it is recorded at once', {
    timeout: 90_000,
  }, async () => {
    const fault = { path: '/partner/v1/events', mode: 'hang', count: -1 };
    await site.cloud.control('faults', { method: 'POST', body: fault });
    for (let n = 0; n < 80; n += 1)
      await site.lan.publish('zigbee2mqtt/safe', JSON.stringify({ contact: n % 2 === 1 }));
    await eventually('a backlog', async () => {
      const { outbox } = (await site.api('/api/v1/status')) as { outbox: { waiting: Record<string, number> } };
      const waiting = Object.values(outbox.waiting).reduce((sum, count) => sum + count, 0);
      return waiting >= 20 ? true : undefined;
    });
    const id = await asked();
    expect((await answer(id, 'disregard')).at(-1)).toMatchObject({
      outcome: 'done',
      data: { verification: { state: 'recorded' } },
    });
    await site.cloud.control('faults', { method: 'DELETE' });
  });
});
