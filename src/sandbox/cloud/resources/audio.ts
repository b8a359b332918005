import { randomUUID } from 'node:crypto';
import { audioOperationsFor, type Playback, type PlayRequest, playDefaults } from '#cloud/contract/index.ts';
import type { Reply } from '#lib/contract/server.ts';
import { apiRules, badApiField, findKeySite, keyReaches, numberOf, type Params } from '../access.ts';
import { apiError } from '../answers.ts';
import { type Caller, type Resource, resource } from '../resource.ts';
import type { CloudState } from '../state.ts';
import type { Grant } from '../tokens.ts';
import { freeAt, messagesOf, statusAt } from '../world/audio.ts';
import type { PlaybackRow, SiteRow } from '../world/rows.ts';

type Find = (params: Params, grant: Grant | undefined) => SiteRow | undefined;
interface AudioCall {
  readonly params: Params;
  readonly identity: Caller;
}

/** Playbacks that may wait for the speakers of one site. */
const maxQueued = 100;

/** The same two operations under both prefixes: by the service's id of the site, and by its account number (S-175). */
export function audioResource(state: CloudState): Resource {
  const byId: Find = (params, grant) => findKeySite(state, numberOf(params.site_id), grant);
  const byReference: Find = (params, grant) =>
    state.world.sites
      .all()
      .find((site) => site.account_number === params.account_reference_id && keyReaches(grant, site));
  const list = (find: Find) => (call: AudioCall) => listMessages(find(call.params, call.identity.grant));
  const play = (find: Find) => (call: AudioCall & { readonly body: PlayRequest | undefined }) =>
    playMessage(state, find(call.params, call.identity.grant), call);
  return resource(
    audioOperationsFor(state.dialect),
    {
      listAudioMessages: list(byId),
      playAudioMessage: play(byId),
      listReferencedAudioMessages: list(byReference),
      playReferencedAudioMessage: play(byReference),
    },
    {
      ...apiRules(state),
      before: (_, params, { grant }) => {
        const site = (params.site_id === undefined ? byReference : byId)(params, grant);
        if (site === undefined) return noSite;
        return params.audio_message_id === undefined || hasMessage(site, params) ? undefined : noMessage;
      },
    },
  );
}

const noSite = apiError(404, 'not_found', 'there is no such site');
const noMessage = apiError(404, 'not_found', 'this site has no such audio message');

const hasMessage = (site: SiteRow, params: Params): boolean =>
  messagesOf(site).some((known) => known.audio_message_id === params.audio_message_id);

function listMessages(site: SiteRow | undefined): Reply {
  if (site === undefined) return noSite;
  const audio_messages = messagesOf(site);
  return { status: 200, body: { data: { audio_messages, total_count: audio_messages.length } } };
}

/**
 * The answer always says `playing` (S-171); that it waits for the speakers, plays or is over shows on the control path.
 */
function playMessage(
  state: CloudState,
  site: SiteRow | undefined,
  { params, body, identity: { exchange } }: AudioCall & { readonly body: PlayRequest | undefined },
): Reply {
  if (site === undefined) return noSite;
  const message = messagesOf(site).find((known) => known.audio_message_id === params.audio_message_id);
  if (message === undefined) return noMessage;
  const devices = targets(state, site, body?.target_devices);
  if ('status' in devices) return devices;
  const { world } = state;
  const earlier = world.playbacks.of(site.site_id);
  if (earlier.filter((one) => statusAt(one, state.now()) === 'queued').length >= maxQueued) {
    return apiError(400, 'invalid_request', `${maxQueued} messages wait for the speakers of this site already`);
  }
  const { volume = playDefaults.volume, repeat = playDefaults.repeat } = body ?? {};
  const startsAt = freeAt(earlier, state.now());
  const playback: PlaybackRow = {
    playback_id: randomUUID(),
    site_id: site.site_id,
    audio_message_id: message.audio_message_id,
    started_at: new Date(startsAt).toISOString(),
    ends_at: new Date(startsAt + message.duration_seconds * repeat * 1000).toISOString(),
    volume,
    repeat,
    device_ids: devices.map(({ device_id }) => device_id),
  };
  world.playbacks.put(playback);
  const description = `message ${message.audio_message_id} requested, volume ${volume}, ${repeat} times`;
  world.note(site.site_id, { type: 'audio', description, at: state.time() });
  exchange.note = description;
  const { site_id: _, ends_at: __, device_ids: ___, ...shown } = playback;
  const answer: Playback = {
    ...shown,
    status: 'playing',
    devices: devices.map((device) => ({ ...device, status: 'playing' })),
  };
  return { status: 200, body: { data: answer } };
}

/** All devices of the site, or those asked for, each once; ids are text here (S-173). */
function targets(state: CloudState, site: SiteRow, wanted: readonly string[] | undefined) {
  const known = new Map(state.world.devices.of(site.site_id).map(({ device_id, name }) => [String(device_id), name]));
  const ids = [...new Set(wanted ?? known.keys())];
  const stranger = ids.findIndex((id) => !known.has(id));
  if (stranger >= 0) return badApiField('target_devices', `has a device this site does not have, at place ${stranger}`);
  return ids.map((device_id) => ({ device_id, name: known.get(device_id) ?? '' }));
}
