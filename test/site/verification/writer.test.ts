import pino from 'pino';
import { Registry } from 'prom-client';
import { expect, it, onTestFinished } from 'vitest';
import type { AuditRecord } from '#site/model/index.ts';
import { auditCap, createWriter } from '../../../src/site/verification/writer.ts';
import { startStore, temporaryDir, until } from '../store/helpers.ts';
import { stamp } from './world.ts';

const entry = (action: string, visibility?: 'auditor'): AuditRecord => ({
  ...{ kind: 'command', source: 'lan', target: 'verification:v', action },
  ...{ at_wall: stamp().wall, at_mono: stamp().mono, clock: 'synced', epoch: 0 },
  ...(visibility === undefined ? {} : { visibility }),
});

it('counts the audit entries that find no room, and the next one tells how many; hidden ones by themselves', async () => {
  const store = await startStore(temporaryDir());
  const metrics = new Registry();
  let fails = true;
  const failing: Pick<typeof store, 'commit'> = {
    commit: (commit) => (fails ? Promise.reject(new Error('the disk is gone')) : store.commit(commit)),
  };
  const writer = createWriter({ store: failing, log: pino({ level: 'silent' }), metrics });
  onTestFinished(writer.stop);
  const write = (...told: AuditRecord[]) => writer.write(new Map(), told);
  void write(entry('first'));
  await until(() => writer.failing() !== undefined);
  const most = 2 * auditCap;
  for (let n = 0; n < most + 3; n += 1) void write(entry('shown'), entry('hidden', 'auditor'));
  expect(writer.waiting).toBe(most);
  expect(await metrics.metrics()).toContain('siteward_verification_audit_omitted_total 3');
  fails = false;
  await writer.settled();
  await write(entry('dispatch'), entry('truth', 'auditor'));
  const last = await store.audit({ limit: 2 });
  expect(last).toMatchObject([
    { action: 'truth', omitted: 3, visibility: 'auditor' },
    { action: 'dispatch', omitted: 3 },
  ]);
  await write(entry('later'));
  expect((await store.audit({ limit: 1 }))[0]).not.toHaveProperty('omitted');
  await store.stop();
});
