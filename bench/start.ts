import { spawnSync } from 'node:child_process';
import { withBundle } from './bundle.ts';
import { type Figure, type Measurement, median, rounded } from './figure.ts';
import { type BenchSite, openSite } from './site.ts';

const rounds = 9;
const goalMs = 400;

/** Exec to ready and SIGTERM to exit, warm. */
export const start: Measurement = {
  name: 'start',
  title: 'Start and stop',
  about: `From exec to the log line \`ready\` (the moment systemd is told) and from SIGTERM to exit, median of ${rounds} after one that
is not counted; they take turns: a Node that does nothing (exec to exit: what the machine is worth at that time), the bundle as the unit runs it, with its flags, its environment and what \`bin/warm-up\` keeps, the bundle by itself, and the
sources. The state exists already; broker and cloud are configured.`,
  remark: `Of the processor time of the main thread until then a profile of the bundle as the unit runs it gives a third to what the modules do as they are loaded (above all the
schemas of zod), a fifth to what V8 takes of the program it kept, and a tenth each to the parts and their start, to Node's own modules, to collections and to the configuration.
The store's thread loads meanwhile. What only the LAN API needs is loaded a second later, or when it is first asked. Without what \`bin/warm-up\` keeps every function is compiled at its first call.`,
  async run(tell) {
    return withBundle(async (bundle) => {
      const variants: Variant[] = [];
      const nothing: number[] = [];
      try {
        variants.push(
          variant('the bundle as the unit runs it', await openSite({ program: bundle, asUnit: true }), goalMs),
        );
        variants.push(variant('the bundle', await openSite({ program: bundle })));
        variants.push(variant('the sources', await openSite({})));
        for (let round = 0; round <= rounds; round += 1) {
          tell(round === 0 ? 'warming up' : `round ${round} of ${rounds}`);
          const idleMs = execToExit();
          if (round > 0) nothing.push(idleMs);
          for (const { site, ready, stop } of variants) {
            const { running, readyMs } = await site.daemon();
            const began = performance.now();
            await running.stop();
            if (round === 0) continue;
            ready.push(readyMs);
            stop.push(performance.now() - began);
          }
        }
        const figures = variants.flatMap(({ name, goal, ready, stop }): Figure[] => [
          {
            ...{ name: `exec to ready, ${name}`, value: rounded(median(ready)), unit: 'ms' },
            ratio: rounded(median(ready) / median(nothing)),
            ...(goal !== undefined && { goal: `at most ${goal} ms`, met: median(ready) <= goal }),
          },
          { name: `SIGTERM to exit, ${name}`, value: rounded(median(stop)), unit: 'ms' },
        ]);
        return [
          { name: 'exec to exit, a Node that does nothing', value: rounded(median(nothing)), unit: 'ms' },
          ...figures,
        ];
      } finally {
        for (const { site } of variants) await site.close();
      }
    });
  },
};

function execToExit(): number {
  const began = performance.now();
  spawnSync(process.execPath, ['-e', '0']);
  return performance.now() - began;
}

interface Variant {
  readonly name: string;
  readonly site: BenchSite;
  /** Exec to ready at most, milliseconds. */
  readonly goal: number | undefined;
  readonly ready: number[];
  readonly stop: number[];
}

const variant = (name: string, site: BenchSite, goal?: number): Variant => ({
  ...{ name, site, goal },
  ...{ ready: [], stop: [] },
});
