import { randomUUID } from 'node:crypto';
import { Counter, type Registry } from 'prom-client';
import { BoundedMap } from '#lib/bounded.ts';
import type { Clock } from '#lib/clock.ts';
import { rateLimit } from '#lib/token-bucket.ts';
import { nameUuid } from '#lib/uuid.ts';
import { type ArmMode, isoTime, type ReplyCode, type SitePlan, unknownClient } from '#site/model/index.ts';
import type { HaAudio } from './home-assistant-audio.ts';
import { type HaAction, haAction, haCommand } from './home-assistant-schemas.ts';
import type { HaEventType } from './home-assistant-state.ts';
import type { CommandMessage } from './parse.ts';
import { fieldOf, readCall, readObject } from './parse.ts';
import { everyPlayback, type Reply } from './schemas.ts';
import { hasSpeakers, limits } from './state.ts';

export interface HaCommandsOptions {
  readonly plan: () => SitePlan;
  readonly audio: HaAudio;
  /** Something of it was set. */
  readonly onAudio: () => void;
  /** The way of every command. */
  readonly take: (message: CommandMessage) => void;
  /** Clears a retained command that was refused; `verb` is the topic below `cmd/`. */
  readonly clear: (verb: string) => void;
  /** Tells Home Assistant what was not done: its commands have no reply topic. */
  readonly tell: (type: HaEventType, refusal: HaRefusal) => void;
  readonly clock: Clock;
  readonly metrics: Registry;
}

export interface HaRefusal {
  readonly id: string;
  readonly partition?: string;
  readonly camera?: string;
  /** Which of its audio group. */
  readonly audio?: string;
  readonly action: string;
  readonly outcome: Reply['outcome'];
  readonly error: NonNullable<Reply['error']>;
}

export interface HaCommands {
  /** A connection has begun. */
  opened(): void;
  /** Takes what came on a topic below `cmd/ha/`. Never throws. */
  take(message: CommandMessage): void;
}

/** The same word from the same client within this time is one command: a button pressed twice, or a message that comes again. */
const sameMs = 1500;
/** Words carry no age: none is taken so soon after siteward has connected. */
const earlyMs = 1000;
const clientCap = 256;
/** Namespace of the ids of commands that bring none. */
const namespace = '5b0c7a0e-6f0b-5d86-9a49-0d6b3f1d9c52';

const modes: Readonly<Partial<Record<HaAction, ArmMode>>> = {
  ARM_AWAY: 'away',
  ARM_HOME: 'home',
  ARM_NIGHT: 'night',
  ARM_VACATION: 'vacation',
  ARM_CUSTOM_BYPASS: 'custom',
};

/** One key press: `code` and `issuedAt` only where it is an object and not a word. */
interface Press {
  readonly action: HaAction | 'PRESS';
  readonly partition?: string;
  readonly camera?: string;
  readonly audio?: AudioPart;
  readonly code?: string;
  readonly issuedAt?: string;
}

/** What it sets, and what it presses. */
const audioParts = ['select', 'volume', 'play', 'stop'] as const;
type AudioPart = (typeof audioParts)[number];

/** Home Assistant's words and objects, made into commands like any other: the site judges them like any other. */
export function createHaCommands(options: HaCommandsOptions): HaCommands {
  const { clock } = options;
  let openedAt = clock.monotonic();
  const last = new BoundedMap<string, number>(clientCap);
  const told = rateLimit({ clock, burst: limits.commands_per_s, perSecond: 1, cap: clientCap });
  const counted = new Counter({
    name: 'siteward_mqtt_home_assistant_total',
    help: 'Commands from Home Assistant, by what became of them at the door.',
    labelNames: ['result'],
    registers: [options.metrics],
  });

  const claimedClient = ({ sender }: CommandMessage) => sender?.client ?? unknownClient;

  function refuse(message: CommandMessage, press: Partial<Press>, code: ReplyCode, field?: string): void {
    counted.inc({ result: code });
    if (message.retained) options.clear(message.verb);
    message.onDone?.();
    const error = { code, ...(field !== undefined && { field }) };
    tell(message, press, { id: randomUUID(), outcome: 'refused', error });
  }

  function tell(
    message: CommandMessage,
    { action = 'PRESS', partition, camera, audio }: Partial<Press>,
    what: Pick<HaRefusal, 'id' | 'outcome' | 'error'>,
  ): void {
    // The answers to a flood must not be one.
    if (!told.take(claimedClient(message))) return;
    options.tell(action.startsWith('ARM_') ? 'arm_failed' : 'command_refused', {
      ...what,
      action,
      ...(partition !== undefined && { partition }),
      ...(camera !== undefined && { camera }),
      ...(audio !== undefined && { audio }),
    });
  }

  /** Words carry no age: they may be older than the connection. */
  function isEarly(): boolean {
    if (clock.monotonic() - openedAt >= earlyMs) return false;
    counted.inc({ result: 'too_early' });
    return true;
  }

  /** Whether a bare word counts, which brings neither id nor age. */
  function counts(message: CommandMessage, press: Press): boolean {
    const now = clock.monotonic();
    // Whoever calls for help is heard whenever they call (safety 1).
    if (press.action !== 'TRIGGER' && isEarly()) return false;
    if (press.action === 'DISARM' && !mayDisarmByWord(message)) {
      refuse(message, press, 'CODE_REQUIRED', 'code');
      return false;
    }
    const key = keyOf(message, press);
    const before = last.get(key);
    if (before !== undefined && now - before < sameMs) {
      counted.inc({ result: 'repeated' });
      return false;
    }
    last.set(key, now);
    return true;
  }

  const keyOf = (message: CommandMessage, { action }: Press) => `${claimedClient(message)}\n${message.verb}\n${action}`;

  function mayDisarmByWord({ sender }: CommandMessage): boolean {
    return sender?.proven === true && sender.role === 'ha-trusted' && !options.plan().disarmNeedsCode;
  }

  function give(message: CommandMessage, press: Press): void {
    if (press.issuedAt === undefined && !counts(message, press)) return;
    counted.inc({ result: 'taken' });
    const id = idOf(message, press);
    const { sender, expiryS } = message;
    options.take({
      ...commandOf(press, id, press.issuedAt ?? isoTime(clock.wall()), options.audio),
      // Only a call for help gets here retained: it comes late, and is cleared once it is on disk.
      retained: message.retained,
      ...(sender !== undefined && { sender }),
      ...(expiryS !== undefined && { expiryS }),
      answer: (reply) => {
        if (reply.final !== true) return;
        if (reply.outcome === 'done') message.onDone?.();
        if (reply.error === undefined) return;
        // What failed inside is worth another press at once.
        if (reply.outcome === 'failed') last.delete(keyOf(message, press));
        tell(message, press, { id, outcome: reply.outcome, error: reply.error });
      },
    });
  }

  function partitionPress(message: CommandMessage, partition: string) {
    const text = Buffer.from(message.payload).toString('latin1');
    const word = haAction.safeParse(text);
    if (word.success) {
      if (message.retained) return refuse(message, { action: word.data, partition }, 'RETAINED');
      return checked(message, { action: word.data, partition });
    }
    const { userId: _, ...raw } = message;
    const found = readObject({ ...raw, retained: false });
    if (found.kind === 'empty') return;
    if (found.kind === 'refused') {
      if (isHelp(message)) return checked(message, { action: 'TRIGGER', partition });
      return refuse(message, { partition }, found.refusal.code, found.refusal.field);
    }
    const read = haCommand.safeParse(found.body);
    if (!read.success && isHelp(message)) return checked(message, { action: 'TRIGGER', partition });
    if (!read.success) return refuse(message, { partition }, 'SCHEMA', fieldOf(read.error));
    const { action, code = '', issued_at: issuedAt } = read.data;
    // A retained call for help is late, and no less one; everything else that was retained is refused.
    if (message.retained && action !== 'TRIGGER') return refuse(message, { action, partition }, 'RETAINED');
    // A template without a code typed makes `None` of it.
    checked(message, { action, partition, issuedAt, ...(code !== '' && code !== 'None' && { code }) });
  }

  function checked(message: CommandMessage, press: Press) {
    const { partitions } = options.plan();
    // No panel for the whole site: it would say armed while a part of it is not.
    if (!partitions.some(({ id }) => id === press.partition)) {
      if (press.action === 'TRIGGER') return give(message, withoutPartition(press));
      return refuse(message, { action: press.action }, 'UNKNOWN_TARGET', 'partition');
    }
    give(message, press);
  }

  function cameraPress(message: CommandMessage, camera: string) {
    if (!options.plan().cameras.some(({ id }) => id === camera)) {
      return refuse(message, {}, 'UNKNOWN_TARGET', 'camera');
    }
    if (message.retained) return refuse(message, { camera }, 'RETAINED');
    if (Buffer.from(message.payload).toString('latin1') !== 'PRESS') return refuse(message, { camera }, 'SCHEMA');
    give(message, { action: 'PRESS', camera });
  }

  function audioPress(message: CommandMessage, which: string) {
    const audio = audioParts.find((part) => part === which);
    if (audio === undefined) return refuse(message, {}, 'UNKNOWN_TARGET', 'audio');
    const press = { action: 'PRESS', audio } as const;
    if (!hasSpeakers(options.plan())) return refuse(message, press, 'AUDIO_UNAVAILABLE');
    if (message.retained) return refuse(message, press, 'RETAINED');
    const text = Buffer.from(message.payload).toString();
    if (audio === 'select' || audio === 'volume') return setAudio(message, audio, text);
    if (text !== 'PRESS') return refuse(message, press, 'SCHEMA');
    if (audio === 'play' && options.audio.wish() === undefined)
      return refuse(message, press, 'UNKNOWN_TARGET', 'audio_message_id');
    give(message, press);
  }

  /** Nothing is heard of it. */
  function setAudio(message: CommandMessage, audio: 'select' | 'volume', text: string) {
    if (isEarly()) return;
    const wrong = audio === 'select' ? options.audio.select(text) : options.audio.setVolume(text);
    if (wrong !== undefined) return refuse(message, { action: 'PRESS', audio }, wrong, audio);
    counted.inc({ result: 'taken' });
    options.onAudio();
  }

  return {
    opened() {
      openedAt = clock.monotonic();
    },
    take(message) {
      // What clearing a retained topic looks like.
      if (message.payload.length === 0) return;
      const [, what = '', which, more] = message.verb.split('/');
      if (more === undefined && which === undefined) return partitionPress(message, what);
      if (message.payload.length > limits.command_bytes) return refuse(message, {}, 'TOO_LARGE');
      if (more === undefined && what === 'snapshot') return cameraPress(message, which ?? '');
      if (more === undefined && what === 'audio') return audioPress(message, which ?? '');
      refuse(message, {}, 'UNKNOWN_VERB');
    },
  };
}

/** Somebody needs help, whatever else is wrong in it (safety 1). One that was retained before must say when it was. */
function isHelp(message: CommandMessage): boolean {
  if (message.retained) return false;
  const body = readCall(message, ['action'])?.body;
  const text = Buffer.from(message.payload.subarray(0, limits.command_bytes)).toString('latin1');
  return body?.action === 'TRIGGER' || text.replaceAll(/[\0\s"]/g, '') === 'TRIGGER';
}

const withoutPartition = ({ partition: _, ...press }: Press): Press => press;

/** The same object again is the same command (rule C2). The code is no part of the id: it could be guessed from it. */
function idOf(message: CommandMessage, { action, partition, issuedAt }: Press): string {
  if (issuedAt === undefined) return randomUUID();
  return nameUuid(namespace, [message.sender?.client ?? unknownClient, partition, action, issuedAt].join('\n'));
}

function commandOf(
  press: Press,
  id: string,
  issuedAt: string,
  audio: HaAudio,
): Pick<CommandMessage, 'verb' | 'payload'> {
  const { action, partition, camera, code } = press;
  const body = (verb: string, members: object) => ({
    verb,
    payload: Buffer.from(JSON.stringify({ id, issued_at: issuedAt, ...members })),
  });
  if (press.audio === 'play') return body('play', { ...audio.wish() });
  // All but alarms: those take a code, and a button gives none.
  if (press.audio === 'stop') return body('cancel', { playback_id: everyPlayback });
  if (action === 'PRESS') return body('snapshot', { camera });
  if (action === 'TRIGGER') return body('panic', { kind: 'audible', partition });
  const coded = { partition, ...(code !== undefined && { code }) };
  if (action === 'DISARM') return body('disarm', coded);
  return body('arm', { ...coded, mode: modes[action] });
}
