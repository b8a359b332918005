import type { Registry } from 'prom-client';
import { type AudioCatalogue, audioClient, createAudioCatalogue, type KnownSpeaker } from '#cloud/sync/index.ts';
import type { Settings } from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import { auditNotes } from '#site/audit-notes.ts';
import type { Asker, CloudMessage, PlaybackShown } from '#site/model/index.ts';
import { isSiteOpen } from './arming-sync.ts';
import type { Note } from './audit-wiring.ts';
import { cloudClient } from './cloud.ts';
import { type House, running, type Surroundings } from './house.ts';

export const catalogueWants = ({ cloud, store, site }: Settings): unknown => [cloud, store.dir, site.id];

/** The audio messages of the service, over connections of their own; undefined where the configuration names no way to them. */
export function audioCatalogue(
  { cloud: section, site }: Settings,
  metrics: Registry,
  surroundings: Surroundings,
): AudioCatalogue | undefined {
  const { house, clock, quality } = surroundings;
  const address = section?.ext_base_url;
  if (section?.api_key === undefined || address === undefined) return undefined;
  const log = surroundings.log('audio');
  const cloud = cloudClient(section, { clock, quality, log, ...audioClient });
  const memory = running(house, 'store').memory('audio');
  const catalogue = createAudioCatalogue({
    ...{ manage: cloud.manage, address, siteId: site.id, memory, clock, log, metrics },
    onChanged: () => house.lan?.messagesChanged(),
    isOpen: () => isSiteOpen(house),
  });
  return {
    ...catalogue,
    async stop() {
      await catalogue.stop();
      await cloud.close();
    },
  };
}

interface Wish {
  readonly playback_id: string;
  readonly message: CloudMessage;
  readonly volume: number;
  readonly repeat: number;
  readonly target_devices?: readonly string[];
}

/**
 * Lets the service play what it alone holds, where `audio.via_cloud` allows it. Rejects with `audio_unavailable`, `audio_invalid`
 * or `queue_full`, or the reason of the signal.
 */
export async function playThroughCloud(
  { house, settings, note }: { house: Pick<House, 'catalogue'>; settings: () => Settings; note: Note },
  { message, target_devices, ...wish }: Wish,
  by: string | Asker,
  signal: AbortSignal,
): Promise<PlaybackShown> {
  const { audio, speakers } = settings();
  const known = speakers.flatMap(({ id, name = id, cloud_device_id }): KnownSpeaker[] =>
    cloud_device_id === undefined ? [] : [{ device_id: id, name, cloud_device_id }],
  );
  const id = message.audio_message_id;
  const where = `the service: ${target_devices?.join(' ') ?? 'all'}`;
  const tell = (refused?: string) => void note(auditNotes.audio('play', by, `message ${id}`, refused, where));
  try {
    const catalogue = allowed(audio.via_cloud, house.catalogue, id);
    const targets = target_devices?.map((speaker) => idAtService(speaker, known));
    const played = await catalogue.play(
      { ...wish, message, by: refOf(by), known, ...(targets !== undefined && { targets }) },
      signal,
    );
    tell(played.status === 'failed' ? played.devices[0]?.reason : undefined);
    return played;
  } catch (error) {
    tell(error instanceof SitewardError ? error.code : 'failed');
    throw error;
  }
}

/** As a playback names who asked. */
export const refOf = (by: string | Asker): string => (typeof by === 'string' ? by : by.client);

function allowed(viaCloud: boolean, catalogue: AudioCatalogue | undefined, id: string): AudioCatalogue {
  if (viaCloud && catalogue !== undefined) return catalogue;
  const why = viaCloud
    ? 'cloud.ext_base_url or cloud.api_key is missing'
    : 'audio.via_cloud does not allow to play it there';
  throw new SitewardError(
    'audio_unavailable',
    `only the service holds message ${id}, and ${why}; import it to play it here`,
    { facts: { field: 'audio_message_id' } },
  );
}

/** Never all instead of one. */
function idAtService(speaker: string, known: readonly KnownSpeaker[]): string {
  const found = known.find(({ device_id }) => device_id === speaker);
  if (found !== undefined) return found.cloud_device_id;
  throw new SitewardError(
    'audio_invalid',
    `target_devices: nobody said which device of the service speaker ${speaker} is; set its cloud_device_id`,
    { facts: { field: 'target_devices' } },
  );
}
