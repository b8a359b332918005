import { bridgeTrouble, type Signal } from '#site/model/index.ts';

/** Tells the core whether the broker can be reached, so that its loss becomes a trouble of the site. */
export function brokerTrouble(
  emit: (signals: readonly Signal[]) => Promise<void>,
): (up: boolean, reason?: string) => void {
  return (up, reason) => {
    void emit([bridgeTrouble('broker_offline', !up, reason)])
      // Only a controller that is ending refuses.
      .catch(() => {});
  };
}

const warnBeforeMs = 30 * 86_400_000;

/** Tells the core that the broker's certificate is near its end, and that it is not any more. */
export function certificateTrouble(
  emit: (signals: readonly Signal[]) => Promise<void>,
  wall: () => number,
  knowsTime: () => boolean,
): (endsAt: number | undefined) => void {
  return (endsAt) => {
    // By a clock in doubt any certificate may be out of its time.
    if (!knowsTime()) return;
    const active = endsAt !== undefined && endsAt - wall() < warnBeforeMs;
    void emit([bridgeTrouble('certificate_expires', active, active ? expiry(endsAt) : undefined)])
      // Only a controller that is ending refuses.
      .catch(() => {});
  };
}

function expiry(endsAt: number): string {
  const day = new Date(endsAt).toISOString().slice(0, 10);
  return `the certificate of the MQTT broker ends on ${day}; renew it ("siteward mqtt provision"), and restart the broker`;
}
