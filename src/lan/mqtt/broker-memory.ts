import { Readable } from 'node:stream';
import type { AedesPublishPacket, Subscription } from 'aedes';
import { ownName } from './broker-auth.ts';
import { matches } from './topics.ts';

/**
 * What the embedded broker remembers, in memory and with a cap on everything (aedes' own memory has none). siteward
 * republishes all its state when it connects, so nothing here must survive the process.
 */
export interface MemoryCaps {
  /** Of siteward; all others together have half of it, apart, so that none of them crowds out the state of the site. */
  readonly retained: number;
  readonly retainedBytes: number;
  /** Persistent sessions; at the cap the one that is away longest gives way. */
  readonly sessions: number;
  /** Of one account. */
  readonly sessionsOfAccount: number;
  readonly subscriptions: number;
  /** QoS 1 messages that wait for one client; at the cap the newest is dropped, as mosquitto does. */
  readonly queued: number;
  readonly queuedBytes: number;
}

const memoryCaps: MemoryCaps = {
  retained: 20_000,
  retainedBytes: 16 * 1024 * 1024,
  sessions: 64,
  sessionsOfAccount: 8,
  subscriptions: 256,
  queued: 1000,
  queuedBytes: 4 * 1024 * 1024,
};

interface ClientRef {
  readonly id: string;
}
type Packet = AedesPublishPacket;
type Will = Packet & { clientId?: string };

interface Held {
  count: number;
  bytes: number;
}

interface SessionMemory {
  readonly subscriptions: Map<string, Subscription>;
  readonly outgoing: Packet[];
  bytes: number;
}

/** Implements what aedes 1.2 asks of a persistence. */
export class BrokerMemory {
  readonly #caps: MemoryCaps;
  readonly #isOurs: (topic: string) => boolean;
  readonly #dropped: (reason: 'retained_full' | 'queue_full' | 'session_evicted' | 'subscriptions_full') => void;
  readonly #retained = new Map<string, Packet>();
  readonly #sessions = new Map<string, SessionMemory>();
  readonly #incoming = new Map<string, Map<number, Packet>>();
  readonly #wills = new Map<string, Will>();
  readonly #held: { readonly ours: Held; readonly others: Held } = {
    ours: { count: 0, bytes: 0 },
    others: { count: 0, bytes: 0 },
  };
  #broker: { readonly id: string; readonly clients: Readonly<Record<string, unknown>> } = { id: '', clients: {} };

  constructor(options: {
    caps?: MemoryCaps;
    isOurs: (topic: string) => boolean;
    dropped: (reason: string) => void;
  }) {
    this.#caps = options.caps ?? memoryCaps;
    this.#isOurs = options.isOurs;
    this.#dropped = options.dropped;
  }

  async setup(broker: { readonly id: string; readonly clients: Readonly<Record<string, unknown>> }): Promise<void> {
    this.#broker = broker;
  }

  async storeRetained(packet: Packet): Promise<void> {
    const isOurs = this.#isOurs(packet.topic);
    const held = isOurs ? this.#held.ours : this.#held.others;
    const known = this.#retained.get(packet.topic);
    if (known !== undefined) {
      held.count -= 1;
      held.bytes -= sizeOf(known);
    }
    this.#retained.delete(packet.topic);
    if (packet.payload.length === 0) return;
    const size = sizeOf(packet);
    const share = isOurs ? 1 : 0.5;
    if (held.count >= this.#caps.retained * share || held.bytes + size > this.#caps.retainedBytes * share) {
      return this.#dropped('retained_full');
    }
    held.count += 1;
    held.bytes += size;
    this.#retained.set(packet.topic, apart(packet));
  }

  /** Whether a retained packet on its way to a new subscriber is still what is retained. */
  isCurrent(packet: Packet): boolean {
    return this.#retained.get(packet.topic)?.payload === packet.payload;
  }

  createRetainedStream(filter: string): Readable {
    return this.createRetainedStreamCombi([filter]);
  }

  createRetainedStreamCombi(filters: readonly string[]): Readable {
    const found = [...this.#retained.values()].filter(({ topic }) => filters.some((filter) => matches(filter, topic)));
    return Readable.from(found);
  }

  async addSubscriptions(client: ClientRef, subscriptions: readonly Subscription[]): Promise<void> {
    const session = this.#sessions.get(client.id) ?? this.#newSession(client.id);
    for (const subscription of subscriptions) {
      const isFull = session.subscriptions.size >= this.#caps.subscriptions && accountOf(client.id) !== ownName;
      if (isFull && !session.subscriptions.has(subscription.topic)) {
        this.#dropped('subscriptions_full');
        continue;
      }
      session.subscriptions.set(subscription.topic, subscription);
    }
  }

  #newSession(id: string): SessionMemory {
    const account = accountOf(id);
    const ids = [...this.#sessions.keys()];
    const same = ids.filter((other) => accountOf(other) === account);
    // Those of siteward are few, and clients without a name are many under one.
    const isCapped = account !== ownName && account !== '';
    if (isCapped && same.length >= this.#caps.sessionsOfAccount) this.#evict(same);
    else if (ids.length >= this.#caps.sessions) this.#evict(ids.filter((other) => accountOf(other) !== ownName));
    const session: SessionMemory = { subscriptions: new Map(), outgoing: [], bytes: 0 };
    this.#sessions.set(id, session);
    return session;
  }

  /** The one that is away longest. */
  #evict(ids: readonly string[]): void {
    const away = ids.find((id) => this.#broker.clients[id] === undefined);
    if (away !== undefined) this.#sessions.delete(away);
    this.#dropped('session_evicted');
  }

  async removeSubscriptions(client: ClientRef, topics: readonly string[]): Promise<void> {
    const session = this.#sessions.get(client.id);
    for (const topic of topics) session?.subscriptions.delete(topic);
  }

  async subscriptionsByClient(client: ClientRef): Promise<Subscription[]> {
    const session = this.#sessions.get(client.id);
    if (session === undefined) return [];
    // To the end of the order of eviction.
    this.#sessions.delete(client.id);
    this.#sessions.set(client.id, session);
    return [...session.subscriptions.values()].map((subscription) => ({ ...subscription }));
  }

  async subscriptionsByTopic(topic: string): Promise<(Subscription & { clientId: string })[]> {
    const found: (Subscription & { clientId: string })[] = [];
    for (const [clientId, { subscriptions }] of this.#sessions) {
      for (const subscription of subscriptions.values()) {
        if (subscription.qos > 0 && matches(subscription.topic, topic)) found.push({ ...subscription, clientId });
      }
    }
    return found;
  }

  /** A clean session ends whatever there was, waiting messages included. */
  async cleanSubscriptions(client: ClientRef): Promise<void> {
    this.#sessions.delete(client.id);
  }

  async countOffline(): Promise<{ subsCount: number; clientsCount: number }> {
    let subsCount = 0;
    for (const { subscriptions } of this.#sessions.values()) subsCount += subscriptions.size;
    return { subsCount, clientsCount: this.#sessions.size };
  }

  async outgoingEnqueue(subscription: { readonly clientId: string }, packet: Packet): Promise<void> {
    const session = this.#sessions.get(subscription.clientId);
    if (session === undefined) return;
    const { messageId: _, ...rest } = packet;
    const kept = apart(rest as Packet);
    const isFull = session.outgoing.length >= this.#caps.queued;
    if (isFull || session.bytes + sizeOf(kept) > this.#caps.queuedBytes) return this.#dropped('queue_full');
    session.outgoing.push(kept);
    session.bytes += sizeOf(kept);
  }

  async outgoingEnqueueCombi(subscriptions: readonly { readonly clientId: string }[], packet: Packet): Promise<void> {
    for (const subscription of subscriptions) await this.outgoingEnqueue(subscription, packet);
  }

  /** A packet that was dropped at the cap is no error: it is still delivered to a client that is there. */
  async outgoingUpdate(client: ClientRef, packet: Packet): Promise<void> {
    const session = this.#sessions.get(client.id);
    if (session === undefined) return;
    const { outgoing } = session;
    const same = outgoing.findIndex((queued) => sameMessage(queued, packet));
    if (same >= 0) {
      const queued = outgoing[same];
      if (queued !== undefined && packet.messageId !== undefined) queued.messageId = packet.messageId;
      return;
    }
    // PUBREL takes the place of the QoS 2 message it belongs to.
    const place = outgoing.findIndex((queued) => queued.messageId === packet.messageId);
    const message = outgoing[place];
    if (message === undefined) return;
    outgoing[place] = packet;
    session.bytes += sizeOf(packet) - sizeOf(message);
  }

  async outgoingClearMessageId(client: ClientRef, packet: Packet): Promise<Packet | undefined> {
    const session = this.#sessions.get(client.id);
    if (session === undefined) return undefined;
    const place = session.outgoing.findIndex((queued) =>
      packet.messageId === undefined ? sameMessage(queued, packet) : queued.messageId === packet.messageId,
    );
    const [gone] = place < 0 ? [] : session.outgoing.splice(place, 1);
    if (gone !== undefined) session.bytes -= sizeOf(gone);
    return gone;
  }

  outgoingStream(client: ClientRef): Readable {
    return Readable.from([...(this.#sessions.get(client.id)?.outgoing ?? [])]);
  }

  /** Bounded by aedes' `maxInflightInbound`. */
  async incomingStorePacket(client: ClientRef, packet: Packet): Promise<void> {
    const packets = this.#incoming.get(client.id) ?? new Map<number, Packet>();
    packets.set(packet.messageId ?? 0, packet);
    this.#incoming.set(client.id, packets);
  }

  async incomingGetPacket(client: ClientRef, packet: Packet): Promise<Packet> {
    const found = this.#incoming.get(client.id)?.get(packet.messageId ?? 0);
    if (found === undefined) throw new Error('no such packet');
    return found;
  }

  async incomingDelPacket(client: ClientRef, packet: Packet): Promise<void> {
    if (this.#incoming.get(client.id)?.delete(packet.messageId ?? 0) !== true) throw new Error('no such packet');
  }

  async cleanIncoming(client: ClientRef): Promise<void> {
    this.#incoming.delete(client.id);
  }

  /** One per connected client. */
  async putWill(client: ClientRef, packet: Will): Promise<void> {
    this.#wills.set(client.id, Object.assign(packet, { brokerId: this.#broker.id, clientId: client.id }));
  }

  async getWill(client: ClientRef): Promise<Will | undefined> {
    return this.#wills.get(client.id);
  }

  async delWill(client: ClientRef): Promise<Will | undefined> {
    const will = this.#wills.get(client.id);
    this.#wills.delete(client.id);
    return will;
  }

  /**
   * Wills of clients whose broker is gone: there is none but this one. aedes tells by the wall clock which brokers live, so that
   * after a step forward it would take itself for gone, and publish the wills of clients that are there.
   */
  streamWill(): Readable {
    return Readable.from([]);
  }

  getClientList(topic: string): Readable {
    return Readable.from(
      [...this.#sessions].filter(([, { subscriptions }]) => subscriptions.has(topic)).map(([id]) => id),
    );
  }

  async destroy(): Promise<void> {
    this.#retained.clear();
    this.#sessions.clear();
  }
}

/** PUBREL has neither. */
const sizeOf = ({ topic, payload }: Partial<Packet>) => (topic?.length ?? 0) + (payload?.length ?? 0);

/** What is kept for long must not hold on to all that came in one piece with it. */
const apart = (packet: Packet): Packet => ({ ...packet, payload: Buffer.from(packet.payload) });

/** Client ids begin with the name of their account. */
const accountOf = (id: string) => id.slice(0, id.indexOf('/'));
const sameMessage = (a: Packet, b: Packet) => a.brokerId === b.brokerId && a.brokerCounter === b.brokerCounter;
