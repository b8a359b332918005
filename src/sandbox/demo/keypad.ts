import { randomUUID } from 'node:crypto';
import { connectAsync } from 'mqtt';
import { eventually } from './processes.ts';

/** How a message has ended, and why on its speakers. */
export interface Ended {
  readonly status: string;
  readonly reasons: readonly string[];
}

interface Playback {
  readonly playback_id: string;
  readonly requested_by: string;
  readonly status: string;
  readonly devices: readonly { readonly reason?: string }[];
}

/** A keypad on the LAN: arms and disarms over MQTT and sees what any client may see. */
export interface Keypad {
  arm(partition: string): Promise<void>;
  disarm(partition: string, code: string): Promise<void>;
  /** Resolves with the id of a message that sounds and was asked for by this. */
  sounds(requestedBy: string): Promise<string>;
  /** Resolves with how a message has ended. */
  ended(playback: string): Promise<Ended>;
  /** Resolves when the retained state of a partition is this word. */
  shows(partition: string, word: string): Promise<void>;
  /** Resolves when the retained state of a zone is this word. */
  zoneShows(zone: string, word: 'ON' | 'OFF'): Promise<void>;
  /** Kinds of the events seen on the LAN so far. */
  seen(): readonly string[];
  outboxDepth(): number;
  close(): Promise<void>;
}

export async function connectKeypad(options: { url: string; root: string }): Promise<Keypad> {
  const { root } = options;
  const client = await connectAsync(options.url, { clientId: 'keypad-demo', protocolVersion: 4, clean: true });
  const retained = new Map<string, string>();
  const replies = new Map<string, { outcome: string; error?: { code: string; zones?: string[] } }>();
  const kinds: string[] = [];
  let depth = 0;
  client.on('message', (topic, payload) => {
    const path = topic.slice(root.length + 1);
    const text = payload.toString('utf8');
    if (/^(partition|zone|audio\/playback)\//.test(path)) retained.set(path, text);
    if (path.startsWith('event/')) kinds.push((JSON.parse(text) as { kind: string }).kind);
    if (path === 'outbox') depth = (JSON.parse(text) as { depth: number }).depth;
    if (path.startsWith('reply/')) {
      const reply = JSON.parse(text) as {
        id: string;
        outcome: string;
        final?: boolean;
        error?: { code: string; zones?: string[] };
      };
      if (reply.final === true) replies.set(reply.id, reply);
    }
  });
  const filters = [
    'partition/+/state',
    'zone/+/state',
    'event/+',
    'outbox',
    'audio/playback/+',
    'reply/keypad-demo/+',
  ].map((path) => `${root}/${path}`);
  await client.subscribeAsync(filters, { qos: 1 });

  async function command(verb: 'arm' | 'disarm', body: Record<string, unknown>): Promise<void> {
    const id = randomUUID();
    const reply_to = `${root}/reply/keypad-demo/${id}`;
    const payload = JSON.stringify({ id, issued_at: new Date().toISOString(), reply_to, ...body });
    await client.publishAsync(`${root}/cmd/${verb}`, payload, { qos: 1 });
    const reply = await eventually(`the answer to ${verb}`, () => replies.get(id));
    if (reply.outcome !== 'done' && reply.outcome !== 'already') {
      throw new Error(`${verb} was ${reply.outcome}: ${JSON.stringify(reply.error ?? 'no reason given')}`);
    }
  }

  const playbacks = () =>
    [...retained].flatMap(([path, text]) =>
      path.startsWith('audio/playback/') && text !== '' ? [JSON.parse(text) as Playback] : [],
    );

  return {
    arm: (partition) => command('arm', { partition, mode: 'away' }),
    disarm: (partition, code) => command('disarm', { partition, code }),
    sounds: (requestedBy) =>
      eventually(
        `a message of ${requestedBy}`,
        () => playbacks().find((one) => one.requested_by === requestedBy && one.status === 'playing')?.playback_id,
      ),
    ended: (id) =>
      eventually(`the end of message ${id}`, () => {
        const { status = 'queued', devices = [] } = playbacks().find((one) => one.playback_id === id) ?? {};
        if (status === 'queued' || status === 'playing') return undefined;
        return { status, reasons: devices.flatMap(({ reason }) => reason ?? []) };
      }),
    async shows(partition, word) {
      await eventually(`${partition} ${word}`, () =>
        retained.get(`partition/${partition}/state`) === word ? true : undefined,
      );
    },
    async zoneShows(zone, word) {
      await eventually(`zone ${zone} ${word}`, () => (retained.get(`zone/${zone}/state`) === word ? true : undefined));
    },
    seen: () => [...kinds],
    outboxDepth: () => depth,
    close: () => client.endAsync(),
  };
}
