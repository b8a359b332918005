import { expect, it } from 'vitest';
import { brokerTrouble, certificateTrouble } from '#daemon/broker-trouble.ts';
import { cloudTrouble } from '#daemon/cloud-trouble.ts';
import { bridgeItself, type Signal } from '#site/model/index.ts';

function heard() {
  const signals: Signal[] = [];
  const emit = async (more: readonly Signal[]) => void signals.push(...more);
  return { signals, emit };
}

it.each([
  ['unauthorized', true],
  ['forbidden', true],
  ['intercepted', undefined],
  ['unreachable', undefined],
  ['busy', undefined],
  ['clock', undefined],
] as const)('a cloud that is %s is one condition of the bridge; urgent: %s', (kind, urgent) => {
  const { signals, emit } = heard();
  const onLink = cloudTrouble(emit);
  onLink(false, 'held back', kind);
  onLink(true, 'open');
  expect(signals).toMatchObject([
    { kind: 'trouble', trouble: 'comm_fail', source: bridgeItself, active: true, detail: 'held back' },
    { kind: 'trouble', trouble: 'comm_fail', source: bridgeItself, active: false, detail: 'open' },
  ]);
  expect(signals[0]).toEqual({ ...signals[0], ...(urgent === true && { urgent }) });
  expect('urgent' in (signals[0] ?? {})).toBe(urgent === true);
});

it('a broker that is away, and back, is one condition of the bridge', () => {
  const { signals, emit } = heard();
  const onLink = brokerTrouble(emit);
  onLink(false, 'no connection');
  onLink(true);
  expect(signals).toMatchObject([
    { trouble: 'broker_offline', source: bridgeItself, active: true, detail: 'no connection' },
    { trouble: 'broker_offline', source: bridgeItself, active: false },
  ]);
});

it("a broker's certificate is told 30 days before its end, and when another one is there; not by a clock in doubt", () => {
  const { signals, emit } = heard();
  const day = 86_400_000;
  const now = Date.UTC(2027, 0, 1);
  let knowsTime = false;
  const onCertificate = certificateTrouble(
    emit,
    () => now,
    () => knowsTime,
  );
  onCertificate(now + day);
  expect(signals).toEqual([]);
  knowsTime = true;
  for (const endsAt of [now + 31 * day, now + 29 * day, now + 397 * day, now - day, undefined]) onCertificate(endsAt);
  expect(signals.map((one) => 'active' in one && one.active)).toEqual([false, true, false, true, false]);
  expect(signals[1]).toMatchObject({
    ...{ kind: 'trouble', trouble: 'certificate_expires', source: bridgeItself },
    detail: expect.stringContaining('ends on 2027-01-30'),
  });
});

it('a controller that is ending takes nothing, and nobody is troubled by it', async () => {
  const refuse = () => Promise.reject(new Error('stopped'));
  cloudTrouble(refuse)(false, 'held back');
  brokerTrouble(refuse)(false);
  certificateTrouble(refuse, Date.now, () => true)(0);
  await new Promise((resolve) => setImmediate(resolve));
});
