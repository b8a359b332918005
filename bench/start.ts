import { withBundle } from './bundle.ts';
import { type Figure, type Measurement, median, rounded } from './figure.ts';
import { type BenchSite, openSite } from './site.ts';

const rounds = 5;

/** Exec to ready and SIGTERM to exit, warm. */
export const start: Measurement = {
  name: 'start',
  title: 'Start and stop',
  about: `From exec to the log line \`ready\` (the moment systemd is told) and from SIGTERM to exit, median of ${rounds} after one that
is not counted; bundle and sources take turns. The state exists already; broker, panel and cloud are configured.`,
  async run(tell) {
    return withBundle(async (bundle) => {
      const variants: Variant[] = [];
      try {
        variants.push(variant('the bundle', await openSite({ program: bundle })));
        variants.push(variant('the sources', await openSite({})));
        for (let round = 0; round <= rounds; round += 1) {
          tell(round === 0 ? 'warming up' : `round ${round} of ${rounds}`);
          for (const { site, ready, stop } of variants) {
            const { running, readyMs } = await site.daemon();
            const began = performance.now();
            await running.stop();
            if (round === 0) continue;
            ready.push(readyMs);
            stop.push(performance.now() - began);
          }
        }
        return variants.flatMap(({ name, ready, stop }): Figure[] => [
          { name: `exec to ready, ${name}`, value: rounded(median(ready)), unit: 'ms' },
          { name: `SIGTERM to exit, ${name}`, value: rounded(median(stop)), unit: 'ms' },
        ]);
      } finally {
        for (const { site } of variants) await site.close();
      }
    });
  },
};

interface Variant {
  readonly name: string;
  readonly site: BenchSite;
  readonly ready: number[];
  readonly stop: number[];
}

const variant = (name: string, site: BenchSite): Variant => ({ name, site, ready: [], stop: [] });
