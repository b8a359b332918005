import { Registry } from 'prom-client';
import { onTestFinished } from 'vitest';
import { type Access, createAccess, type Opened, type Role } from '#lan/access/index.ts';
import { type ManualClock, manualClock } from '#lib/clock.fake.ts';
import { never } from '#lib/wait.ts';
import type { AuditDraft, ClockQuality } from '#site/model/index.ts';
import { countingDerive, folder } from './rig.ts';

export const here = '127.0.0.1';
export const lan = (n: number) => `192.0.2.${n}`;

/** One bridge: a folder, a clock, and what the audit log was told. */
export interface Box {
  readonly dir: string;
  readonly clock: ManualClock;
  readonly derive: ReturnType<typeof countingDerive>;
  readonly audit: AuditDraft[];
  metrics: Registry;
  quality: ClockQuality;
  /** As a start of the daemon. */
  start(): Promise<Access>;
}

export function box(): Box {
  const made: Box = {
    dir: folder(),
    clock: manualClock(),
    derive: countingDerive(),
    audit: [],
    metrics: new Registry(),
    quality: 'synced',
    async start() {
      made.metrics = new Registry();
      const access = createAccess({
        dir: made.dir,
        clock: made.clock,
        quality: () => made.quality,
        metrics: made.metrics,
        note: (entry) => made.audit.push(entry),
        derive: made.derive,
      });
      await access.start(never());
      onTestFinished(() => access.stop());
      return access;
    },
  };
  return made;
}

export const passwords = {
  olga: 'zahnrad-tulpe-42',
  ines: 'vier blaue Esel',
  given: 'kiesel-anorak-7',
  next: 'lampe-fjord-gurke',
};

export const claim = (access: Access, id: 'olga' | 'ines', role: Role, address = here): Promise<Opened> =>
  access.claim(
    { code: access.claimCode()?.reveal() ?? '', id, name: id, role, password: passwords[id], address },
    never(),
  );

export const by = ({ caller }: Opened, address = lan(1)) => ({ caller, from: { address } });
export const cookie = ({ token }: Opened) => ({ session: token.reveal() });

/** Added by somebody, and with a password of his own. */
export async function join(
  access: Access,
  adder: Opened,
  id: string,
  role: Role,
  validUntil?: string,
): Promise<Opened> {
  await access.addPerson(by(adder), { id, name: id, role, validUntil, password: passwords.given }, never());
  const first = await access.login({ id, password: passwords.given, address: lan(9) }, never());
  return access.setOwnPassword(by(first, lan(9)), { current: passwords.given, next: passwords.next }, never());
}
