import { randomUUID } from 'node:crypto';
import type { PlayRequest } from '#cloud/contract/index.ts';
import type { By } from '#lan/access/index.ts';
import type { Handlers, Reply } from '#lib/contract/server.ts';
import { withDeadline } from '#lib/wait.ts';
import { answerDeadlineMs, askerOf, playMs } from './answering.ts';
import { apiError, bypassRefused, commandRefused, data, dispatchReply, nothing } from './cloud-answers.ts';
import type { cloudOperations } from './cloud-operations.ts';
import type { CloudPathsPort } from './cloud-port.ts';

type Params = Readonly<Record<string, string>>;

interface AudioCall {
  readonly identity: By;
  readonly signal: AbortSignal;
}

export function cloudHandlers(port: CloudPathsPort): Handlers<typeof cloudOperations, By> {
  const list = () => {
    const audio_messages = port.messages();
    return data({ audio_messages, total_count: audio_messages.length });
  };

  /** Each is a new one (S-177). */
  async function play(message: string, body: PlayRequest | undefined, { identity, signal }: AudioCall): Promise<Reply> {
    const { volume, repeat, target_devices: targets } = body ?? {};
    const wish = {
      message,
      ...(volume !== undefined && { volume }),
      ...(repeat !== undefined && { repeat }),
      ...(targets !== undefined && { targets }),
    };
    const playing = (timely: AbortSignal) => port.play(wish, askerOf(identity), timely);
    return data(await withDeadline(playMs, signal, playing, 'playing a message'));
  }

  async function command(
    verb: 'arm' | 'disarm',
    partition: string,
    code: string | undefined,
    { identity, signal }: AudioCall,
  ): Promise<Reply> {
    const wish = { verb, partition, ...(code !== undefined && { code }) };
    const answer = await port.command(wish, askerOf(identity), signal);
    const status = verb === 'arm' ? 'armed' : 'disarmed';
    return commandRefused(answer) ?? data({ partition_id: partition, status });
  }

  function shown(partition_id: string): Reply {
    const { status, ready, bypassed_zones } = port.partition(partition_id);
    if (status !== undefined) return data({ partition_id, status, ready, bypassed_zones });
    return apiError(503, 'state_unknown', 'nobody knows whether it is armed: its panel does not answer');
  }

  return {
    listAudioMessages: list,
    listReferencedAudioMessages: list,
    playAudioMessage: ({ params, body, ...call }) => play(params.audio_message_id, body, call),
    playReferencedAudioMessage: ({ params, body, ...call }) => play(params.audio_message_id, body, call),

    armPartition: ({ params, body, ...call }) => command('arm', params.partition_id, body?.code, call),
    disarmPartition: ({ params, body, ...call }) => command('disarm', params.partition_id, body?.code, call),
    async bypassZones({ params: { partition_id: partition }, body: { zones, code }, identity, signal }) {
      const wish = { partition, zones, ...(code !== undefined && { code }) };
      return bypassRefused(await port.bypass(wish, askerOf(identity), signal)) ?? shown(partition);
    },
    readPartition: ({ params }) => shown(params.partition_id),

    async captureSnapshot({ params, header, identity, signal }) {
      const { jpeg, id } = await port.snapshot(params.device_id, askerOf(identity), signal);
      if (wantsPicture(header('accept'))) return picture(jpeg);
      return data({ url: `${originOf(identity, header('host'))}/v1/snapshots/${id}` });
    },
    getTakenPicture({ params }) {
      const found = port.picture(params.snapshot_id);
      return found === undefined ? nothing('picture') : picture(found);
    },

    dispatchResponder: async ({ body, identity, signal }) =>
      dispatchReply(await port.dispatch(body, askerOf(identity), signal), randomUUID()),

    getAuditLog: async ({ query, signal }) =>
      data(await withDeadline(answerDeadlineMs, signal, () => port.activity(query), 'reading the audit log')),
  };
}

/** What the path names must be there, and be this site's, before anything else of the request is looked at (S-008). */
export function missing(port: CloudPathsPort, params: Params): Reply | undefined {
  const { site_id: site, account_reference_id: reference, partition_id: partition, device_id: device } = params;
  if (site !== undefined && !port.isSite(site)) return nothing('site');
  if (reference !== undefined && !port.isReference(reference)) return nothing('site');
  if (partition !== undefined && !port.isPartition(partition)) return nothing('partition');
  return device !== undefined && !port.isCamera(device) ? nothing('camera') : undefined;
}

const picture = (body: Uint8Array): Reply => ({
  status: 200,
  body,
  headers: { 'content-type': 'image/jpeg', 'cache-control': 'no-store' },
});

/** JSON unless a picture is asked for by name. */
const wantsPicture = (accept: string | undefined): boolean => /(^|[\s,])image\/(jpeg|\*)/i.test(accept ?? '');

/** By the name under which the bridge was called: it is the one that its client can reach. */
function originOf({ from }: By, host: string | undefined): string {
  if (from === 'local') return 'http://localhost';
  return `https://${host !== undefined && /^[\w.:[\]-]+$/.test(host) ? host : 'localhost'}`;
}
