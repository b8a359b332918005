import { randomUUID } from 'node:crypto';
import { connectAsync } from 'mqtt';
import { eventually } from './processes.ts';

/** A keypad on the LAN: arms and disarms over MQTT and sees what any client may see. */
export interface Keypad {
  arm(partition: string): Promise<void>;
  disarm(partition: string, code: string): Promise<void>;
  /** Plays a message on all speakers; resolves with its id when it sounds. */
  play(message: string): Promise<string>;
  /** Resolves when every speaker has played it to the end. */
  heard(playback: string): Promise<void>;
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

  async function command(verb: 'arm' | 'disarm' | 'play', body: Record<string, unknown>): Promise<string> {
    const id = randomUUID();
    const reply_to = `${root}/reply/keypad-demo/${id}`;
    const payload = JSON.stringify({ id, issued_at: new Date().toISOString(), reply_to, ...body });
    await client.publishAsync(`${root}/cmd/${verb}`, payload, { qos: 1 });
    const reply = await eventually(`the answer to ${verb}`, () => replies.get(id));
    if (reply.outcome !== 'done' && reply.outcome !== 'already') {
      throw new Error(`${verb} was ${reply.outcome}: ${JSON.stringify(reply.error ?? 'no reason given')}`);
    }
    return id;
  }

  return {
    async arm(partition) {
      await command('arm', { partition, mode: 'away' });
    },
    async disarm(partition, code) {
      await command('disarm', { partition, code });
    },
    play: (message) => command('play', { audio_message_id: message }),
    async heard(playback) {
      await eventually(`the end of message ${playback}`, () => {
        const { status } = JSON.parse(retained.get(`audio/playback/${playback}`) ?? '{}') as { status?: string };
        if (status === 'failed' || status === 'cancelled') throw new Error(`the message has ${status}`);
        return status === 'completed' ? true : undefined;
      });
    },
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
