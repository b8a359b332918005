import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import { describe, isCode } from '#errors.ts';
import { BoundedMap } from '#lib/bounded.ts';
import type { Clock } from '#lib/clock.ts';
import { rateLimit } from '#lib/token-bucket.ts';
import { type AnswerResult, type CommandResult, isoTime, resultShown, unknownClient } from '#site/model/index.ts';
import { accessOf } from './acl.ts';
import { givenAnswer, verifyReply } from './answering.ts';
import { createPanics } from './panics.ts';
import {
  type CommandMessage,
  type CommandSender,
  type Envelope,
  type Parsed,
  type ParsedCommand,
  parseCommand,
  provenClient,
} from './parse.ts';
import { answer, type MayRead } from './query.ts';
import { createRequests, isRequest, type Request } from './requests.ts';
import type { Reply } from './schemas.ts';
import { siteCommand } from './site-command.ts';
import type { SitePort } from './site-port.ts';
import { type Facts, infoOf, limits } from './state.ts';

export interface CommandsOptions {
  readonly root: string;
  readonly site: SitePort;
  readonly facts: () => Facts;
  /** Publishes one reply; `correlationData` belongs into its properties. `uncounted`: no metric tells of it. */
  readonly publish: (topic: string, payload: string, correlationData: Buffer | undefined, uncounted?: boolean) => void;
  /** Resolves when the picture has left, or was dropped: false where there is no connection. */
  readonly publishImage: (camera: string, jpeg: Uint8Array) => Promise<boolean>;
  /** Clears a retained command that was refused. */
  readonly clear: (verb: string) => void;
  /** A command ended without its effect: show the state again (rule C9). */
  readonly refused: (partition: string) => void;
  /** Aborts when this part stops. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Registry;
}

export interface Commands {
  /** Takes one message; everything that is wrong with it ends in an answer or a count. Never throws. */
  take(message: CommandMessage): void;
}

/** A reply's address and what is repeated in it. */
interface Target extends Envelope {
  readonly topic: string;
  readonly correlationData: Buffer | undefined;
  readonly answer: ((reply: Reply) => void) | undefined;
}

const sitePerSecond = 100;
/** Commands of one client wait for each other while a code is checked, so that their order holds. */
const waitingCap = 32;
const clientCap = 256;

export function createCommands(options: CommandsOptions): Commands {
  const { root, site, clock, log } = options;
  const perClient = rateLimit({
    clock,
    burst: limits.commands_per_s,
    perSecond: limits.commands_per_s,
    cap: clientCap,
  });
  const perSite = rateLimit({ clock, burst: sitePerSecond, perSecond: sitePerSecond, cap: 1 });
  // Whoever gives a code may be calling for help: no flood of anything else takes their turn (safety 1, I14).
  const codedPerClient = rateLimit({
    clock,
    burst: limits.commands_per_s,
    perSecond: limits.commands_per_s,
    cap: clientCap,
  });
  const codedPerSite = rateLimit({ clock, burst: sitePerSecond, perSecond: sitePerSecond, cap: 1 });
  const told = rateLimit({ clock, burst: 1, perSecond: 1, cap: clientCap });
  const lanes = new BoundedMap<string, Lane>(clientCap);
  const counted = new Counter({
    name: 'siteward_mqtt_commands_total',
    help: 'Commands from MQTT, by verb and by what became of them at the door.',
    labelNames: ['verb', 'result'],
    registers: [options.metrics],
  });

  function send(
    target: Target,
    reply: Omit<Reply, 'id' | 'at' | 'correlation'> & { at?: number },
    uncounted = false,
  ): void {
    const { at = clock.wall(), ...rest } = reply;
    const body: Reply = {
      id: target.id,
      ...(target.correlation === undefined ? {} : { correlation: target.correlation }),
      ...rest,
      at: isoTime(at),
    };
    if (target.answer !== undefined) target.answer(body);
    else options.publish(target.topic, capped(body), target.correlationData, uncounted);
  }

  function refuse(target: Target | undefined, verb: string, error: NonNullable<Reply['error']>): void {
    counted.inc({ verb, result: error.code });
    // Not `code`: that is what people type, and is blanked.
    log.debug({ verb, reply_code: error.code, field: error.field }, 'MQTT command refused');
    if (target !== undefined) send(target, { outcome: 'refused', error, final: true });
  }

  /** As the site judges other commands: a clock in doubt makes none of them late. */
  const isExpired = ({ expiresAt }: ParsedCommand) =>
    expiresAt !== undefined && site.view().clock !== 'doubtful' && clock.wall() > expiresAt;

  /** Where the broker does not tell who asks, everybody may read all: only what its own lists allow comes that far. */
  function readerOf(sender: CommandSender | undefined): MayRead {
    if (sender === undefined) return () => true;
    if (sender.role === undefined) return () => false;
    const { mayReceive } = accessOf(root, sender.role, sender.client);
    return (topic) => mayReceive(`${root}/${topic}`);
  }

  async function execute(parsed: ParsedCommand, target: Target, sender: CommandSender | undefined): Promise<void> {
    const isProven = sender?.proven === true;
    const client = provenClient(sender);
    const role = sender?.role;
    if (asking.includes(parsed.verb) && isExpired(parsed)) {
      counted.inc({ verb: parsed.verb, result: 'EXPIRED' });
      return send(target, { outcome: 'expired', error: { code: 'EXPIRED' }, final: true });
    }
    if (parsed.verb === 'query') {
      const data = await answer(parsed.body, site, options.facts(), readerOf(sender));
      if (typeof data === 'string') return refuse(target, 'query', { code: data });
      counted.inc({ verb: 'query', result: 'done' });
      return send(target, { outcome: 'done', data: { ...data }, final: true });
    }
    if (parsed.verb === 'ping') {
      counted.inc({ verb: 'ping', result: 'done' });
      const { boot_id, epoch } = infoOf(site.view(), options.facts());
      const data = { boot_id, epoch, ...(role !== undefined && { role }) };
      return send(target, { outcome: 'done', data, final: true });
    }
    if (parsed.verb === 'verify') {
      const given = givenAnswer(parsed, { client, isProven });
      counted.inc({ verb: 'verify', result: 'submitted' });
      // Nothing of the client waits for what the service says.
      return new Promise((resolve, reject) => {
        const told = (result: AnswerResult) => {
          send(target, verifyReply(result));
          resolve();
        };
        site.verifications.answer(given, told).then(resolve, reject);
      });
    }
    if (isRequest(parsed)) return serve(parsed, target, client);
    const check = await site.checkCode(parsed.code);
    counted.inc({ verb: parsed.verb, result: 'submitted' });
    site.submit(siteCommand(parsed, client, check), (result) => {
      send(target, replyOf(result));
      if (result.final && result.partition !== undefined && !effective.includes(result.outcome)) {
        options.refused(result.partition);
      }
    });
  }

  /** Judged by the site as to its age and its code, and then done beside the client's other commands. */
  async function serve(parsed: Request, target: Target, client: string): Promise<void> {
    const known = requests.known(client, parsed);
    if (known !== undefined) return void known.then((final) => send(target, { ...final, final: true }));
    const check = await site.checkCode(parsed.code);
    counted.inc({ verb: parsed.verb, result: 'submitted' });
    site.submit(siteCommand(parsed, client, check), (result) => {
      const { partition: _, ...judged } = result;
      if (result.error !== undefined) return send(target, replyOf(judged));
      if (!result.final) return;
      // Another under its id may have come while the code was looked at.
      const again = requests.known(client, parsed);
      if (again === undefined) send(target, { outcome: 'accepted', final: false });
      void (again ?? requests.perform(client, parsed, check)).then((final) => send(target, { ...final, final: true }));
    });
  }

  function enqueue(
    { client, verb, coded }: { readonly client: string; readonly verb: string; readonly coded: boolean },
    target: Target,
    work: () => Promise<void>,
  ): void {
    const lane = lanes.get(client) ?? { tail: Promise.resolve(), waiting: { coded: 0, plain: 0 } };
    const kind = coded ? 'coded' : 'plain';
    if (lane.waiting[kind] >= waitingCap) {
      refuse(target, verb, { code: 'BUSY', retry_after_s: 1 });
      return;
    }
    lane.waiting[kind] += 1;
    lane.tail = lane.tail.then(work).then(
      () => {
        lane.waiting[kind] -= 1;
      },
      (error: unknown) => {
        lane.waiting[kind] -= 1;
        if (isCode(error, 'queue_full')) return refuse(target, verb, { code: 'BUSY', retry_after_s: 1 });
        log.error({ verb, reason: describe(error) }, 'MQTT command failed inside');
        refuse(target, verb, { code: 'INTERNAL' });
      },
    );
    lanes.set(client, lane);
  }

  const requests = createRequests({
    site,
    publishImage: options.publishImage,
    signal: options.signal,
    clock,
    onFault: (verb, reason) => log.error({ verb, reason }, 'MQTT command failed inside'),
  });
  const targetOf = (envelope: Envelope, { sender, correlationData, answer }: CommandMessage): Target => {
    const { topic } = addressOf(root, envelope, sender);
    return { ...envelope, topic, correlationData, answer };
  };
  const panics = createPanics({
    site,
    answer: (envelope, message, result) => send(targetOf(envelope, message), replyOf(result), true),
    refuse: (envelope, message, refusal) => refuse(targetOf(envelope, message), 'panic', refusal),
    noteTaken: () => counted.inc({ verb: 'panic', result: 'submitted' }),
  });

  return {
    take(message) {
      if (message.payload.length === 0) return;
      if (message.verb === 'panic') return panics.take(message);
      if (message.retained) options.clear(message.verb);
      const parsed = parseCommand(message, clock.wall());
      if (parsed.kind === 'empty') return;
      const verb = parsed.kind === 'command' ? parsed.command.verb : 'any';
      const address = addressOf(root, parsed.envelope, message.sender);
      const target: Target | undefined =
        parsed.envelope.id === null && address.fallback
          ? undefined
          : {
              ...parsed.envelope,
              topic: address.topic,
              correlationData: message.correlationData,
              answer: message.answer,
            };
      const coded = isCoded(parsed);
      // What a name proves is its own: nobody who only writes it takes its turns.
      const turn = message.sender?.proven === true ? `${address.claimed}=` : address.claimed;
      const [ofClient, ofSite] = coded ? [codedPerClient, codedPerSite] : [perClient, perSite];
      if (!ofClient.take(turn) || !ofSite.take('site')) {
        // Once a second is enough: the answers to a flood must not be one.
        return refuse(told.take(turn) ? target : undefined, verb, {
          code: 'RATE_LIMITED',
          retry_after_s: 1,
        });
      }
      if (parsed.kind === 'refused') return refuse(target, verb, parsed.refusal);
      if (target === undefined) return;
      if (address.bad) return refuse(target, verb, { code: 'BAD_REPLY_TOPIC' });
      enqueue({ client: turn, verb, coded }, target, () => execute(parsed.command, target, message.sender));
    },
  };
}

/** One order for all that a client gives; what has a code waits in it on a count of its own. */
interface Lane {
  tail: Promise<void>;
  readonly waiting: { coded: number; plain: number };
}

/** They change nothing, and take no code. */
const asking: readonly string[] = ['query', 'ping'];

/** Valid, and its code will be looked at: what only asks has none, whatever it carries. */
const isCoded = (parsed: Parsed): boolean =>
  parsed.kind === 'command' && !asking.includes(parsed.command.verb) && parsed.command.code !== undefined;

const effective: readonly string[] = ['done', 'already'];

interface Address {
  readonly topic: string;
  /** The name before the reply's id: proven, or only claimed. */
  readonly claimed: string;
  /** A reply topic was given that is not one: answers go to the default instead. */
  readonly bad: boolean;
  /** No usable reply topic was given. */
  readonly fallback: boolean;
}

const level = '[A-Za-z0-9_-][A-Za-z0-9_.:-]{0,63}';
const name = new RegExp(`^${level}$`);
/** Whether it can stand for a client in a topic. */
export const isClientName = (text: string): boolean => name.test(text);
const below = new RegExp(`^(${level})(?:/${level}){1,4}$`);

/**
 * Where the answer goes. siteward may publish almost anywhere, so it lets nobody choose a topic outside `reply/`, and where the
 * broker tells who asks, none outside the asker's own branch. An external broker does not tell: there the reader's ACL
 * (`reply/<own name>/#`) is what keeps replies apart.
 */
export function addressOf(root: string, envelope: Envelope, sender: CommandSender | undefined): Address {
  const known = sender?.client ?? unknownClient;
  const fallback = `${root}/reply/${known}/${envelope.id ?? 'none'}`;
  const { replyTo } = envelope;
  if (replyTo === undefined) return { topic: fallback, claimed: known, bad: false, fallback: true };
  const prefix = `${root}/reply/`;
  const claimed = replyTo.startsWith(prefix) ? below.exec(replyTo.slice(prefix.length))?.[1] : undefined;
  if (claimed === undefined || (sender?.proven === true && claimed !== sender.client)) {
    return { topic: fallback, claimed: known, bad: true, fallback: true };
  }
  return { topic: replyTo, claimed: sender?.client ?? claimed, bad: false, fallback: false };
}

const postponedData = ({ due, timesLeft }: NonNullable<CommandResult['postponed']>) => ({
  at: isoTime(due),
  times_left: timesLeft,
});

function replyOf(result: CommandResult): Omit<Reply, 'id' | 'at' | 'correlation'> & { at: number } {
  const { undone, left_out, tests, ...shown } = resultShown(result);
  const data = {
    ...(undone !== undefined && { undone }),
    ...(left_out !== undefined && { left_out }),
    ...(tests !== undefined && { tests }),
    ...(result.postponed !== undefined && postponedData(result.postponed)),
  };
  return { ...shown, ...(Object.keys(data).length > 0 && { data }), at: result.at, final: result.final };
}

/** A reply never exceeds its cap: the lists of zones give way, then the partitions that are not done, then the data. */
export function capped(body: Reply): string {
  let text = JSON.stringify(body);
  const { error } = body;
  for (let keep = error?.zones?.length ?? 0; keep > 0 && tooLong(text); keep = Math.floor(keep / 2)) {
    text = JSON.stringify({ ...body, error: { ...error, zones: error?.zones?.slice(0, Math.floor(keep / 2)) } });
  }
  const undone = (body.data?.undone ?? []) as readonly { zones?: unknown }[];
  const short = undone.map(({ zones: _, ...one }) => one);
  for (let keep = short.length; keep > 0 && tooLong(text); keep = Math.floor(keep / 2)) {
    const named = error === undefined ? {} : { error: { ...error, zones: [] } };
    text = JSON.stringify({ ...body, ...named, data: { undone: short.slice(0, keep), truncated: true } });
  }
  return tooLong(text) ? JSON.stringify({ ...body, data: { truncated: true } }) : text;
}

const tooLong = (text: string) => Buffer.byteLength(text) > limits.reply_bytes;
