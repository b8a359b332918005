import { bridgeItself, type Signal } from '#site/model/index.ts';

/** Tells the core whether the broker can be reached, so that its loss becomes a trouble of the site. */
export function brokerTrouble(
  emit: (signals: readonly Signal[]) => Promise<void>,
): (up: boolean, reason?: string) => void {
  return (up, reason) => {
    const about = { kind: 'trouble', source: bridgeItself, trouble: 'broker_offline' } as const;
    void emit([{ ...about, active: !up, replay: false, ...(reason !== undefined && { detail: reason }) }])
      // Only a controller that is ending refuses.
      .catch(() => {});
  };
}
