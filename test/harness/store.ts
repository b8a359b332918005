import { join } from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { systemClock } from '#lib/clock.ts';
import { openStore, type Store } from '#site/store/index.ts';
import type { Site } from './site.ts';

/** Ends the daemon and gives its store to `work`; whoever wants it to go on starts it again. */
export async function withStore(site: Pick<Site, 'daemon' | 'folder'>, work: (store: Store) => Promise<unknown>) {
  await site.daemon.stop();
  const options = { clock: systemClock(), log: pino({ level: 'silent' }), metrics: new Registry() };
  const store = openStore({ dir: join(site.folder, 'state'), ...options });
  await store.start(new AbortController().signal);
  await work(store).finally(() => store.stop());
}
