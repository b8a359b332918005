import type { Logger } from 'pino';
import { z } from 'zod';
import { createTextKeeper } from '#lib/kept-text.ts';
import { type CloudMessage, cloudMessage } from '#site/model/index.ts';
import type { Memory } from '#site/store/index.ts';
import { messageCap } from './audio-messages.ts';

const list = z.array(cloudMessage).max(messageCap);

/** The last good list on disk. */
export interface CatalogueKeeper {
  /** None where there is none, where it is of another site, or where it cannot be read. */
  load(): Promise<readonly CloudMessage[] | undefined>;
  /** Rejects when it could not be written; the former list stays. */
  keep(messages: readonly CloudMessage[]): Promise<void>;
}

export function createCatalogueKeeper(options: { memory: Memory; of: string; log: Logger }): CatalogueKeeper {
  const { memory, of, log } = options;
  const keeper = createTextKeeper({ memory, key: 'catalogue', of });
  return {
    async load() {
      try {
        const kept = await keeper.load();
        return kept === undefined ? undefined : list.parse(kept);
      } catch (error) {
        log.warn({ err: error }, 'the audio messages of the service that were kept cannot be read; they are read anew');
        return undefined;
      }
    },
    keep: (messages) => keeper.keep(messages),
  };
}
