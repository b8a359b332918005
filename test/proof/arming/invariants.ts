import { isDeepStrictEqual } from 'node:util';
import { type Effect, type Input, readState, type SiteState, writeState, zoneTable } from '#site/core/index.ts';
import { type ArmingWord, isCalmer, type PartitionPlan } from '#site/model/index.ts';
import type { Adopted, Decided, History } from './machine.ts';
import {
  commandOf,
  committed,
  decisions,
  effectsOf,
  events,
  isDecided,
  partitionIn,
  replies,
  shown,
  signalOf,
  transitions,
  zoneIn,
} from './read.ts';

/** What is wrong with a history; empty where the invariant holds. */
export type Check = (history: History) => readonly string[];

const isFinal = (word: string): boolean => word === 'disarmed' || word.startsWith('armed_');

/** Each transition that came to disk adds one to the sequence; it has one audit entry and, for a final word, one event. */
export const oneStepEach: Check = (history) => {
  const wrong: string[] = [];
  const seqs = new Map<string, number>();
  for (const entry of committed(history)) {
    const made = transitions(entry);
    for (const { partition, seq } of made) {
      const key = `${entry.epoch} ${partition}`;
      if (seq !== (seqs.get(key) ?? 0) + 1) wrong.push(`${key}: ${seq} after ${seqs.get(key) ?? 0}: ${shown(entry)}`);
      seqs.set(key, seq);
    }
    const named = made.map(({ partition, seq }) => `${partition} ${seq}`);
    const audited = effectsOf(entry, 'audit').flatMap(({ entry: { kind, target, seq } }) =>
      kind === 'transition' ? [`${target} ${seq}`] : [],
    );
    if (!isDeepStrictEqual(named, audited)) wrong.push(`${named} is audited as ${audited}: ${shown(entry)}`);
    const final = made.filter(({ state }) => isFinal(state));
    const told = events(entry).filter(({ class: group, kind }) => group === 'arming' && isFinal(kind));
    const numbers = told.map(({ partition, arming }) => `${partition} ${arming?.seq}`);
    if (
      !isDeepStrictEqual(
        numbers,
        final.map(({ partition, seq }) => `${partition} ${seq}`),
      )
    )
      wrong.push(`${JSON.stringify(final)} is told as ${numbers}: ${shown(entry)}`);
    for (const { id, seq } of Object.values(entry.after.partitions)) {
      const known = seqs.get(`${entry.epoch} ${id}`) ?? 0;
      if (seq !== known) wrong.push(`${id} stands at ${seq}, ${known} is on record: ${shown(entry)}`);
    }
  }
  return wrong;
};

/** A partition becomes disarmed only by a person, the cloud or a schedule that may, or by its panel's own word. */
export const neverByItself: Check = (history) =>
  history.flatMap((entry) => (isDecided(entry) ? disarmedBy(entry) : disarmedAt(entry)));

function disarmedBy(entry: Decided): readonly string[] {
  const { input, plan } = entry;
  const signal = signalOf(input);
  const isKey =
    signal?.kind === 'zone' && !signal.replay && zoneTable[zoneIn(plan, signal.zone)?.type ?? 'fire'].group === 'key';
  const made = transitions(entry);
  const silent = Object.values(entry.after.partitions).flatMap(({ id, state }) => {
    const isNew = state === 'disarmed' && entry.before.partitions[id]?.state !== 'disarmed';
    return isNew && !made.some(({ partition }) => partition === id)
      ? [`${id} is disarmed unsaid: ${shown(entry)}`]
      : [];
  });
  const spoken = made.flatMap(({ partition, state }) => {
    if (state !== 'disarmed') return [];
    const authority = partitionIn(plan, partition)?.authority;
    const asked = commandOf(input)?.verb === 'disarm' || input.kind === 'tick';
    const may = authority === 'engine' ? isKey || asked : signal !== undefined;
    return may && !(plan.securityType === 4 && signal === undefined)
      ? []
      : [`${partition} is disarmed: ${shown(entry)}`];
  });
  return [...silent, ...spoken];
}

/** No start, no lost store and no change of the plan makes a partition disarmed that was not. */
function disarmedAt({ why, before, after, plan }: Adopted): readonly string[] {
  return Object.values(after.partitions).flatMap(({ id, state }) => {
    if (state !== 'disarmed' || why === 'begin') return [];
    const was = before?.partitions[id];
    const isNew = why === 'plan' && was === undefined && before?.retired[id]?.disarmed !== false;
    const stays = was?.state === 'disarmed' && was.owner === ownerOf(partitionIn(plan, id));
    return isNew || stays ? [] : [`${id} is disarmed by ${why}`];
  });
}

const ownerOf = (plan: PartitionPlan | undefined): string | undefined =>
  plan === undefined ? undefined : plan.panel === undefined ? plan.authority : `${plan.authority}:${plan.panel}`;

/** What a schedule does is a command of its own; its id says for which slot. */
const byTheClock = ({ at }: Input, id = '', actor: string | undefined) =>
  ({ id, actor, source: 'schedule', code: 'none', issuedAt: at.wall }) as const;

/** Who disarms the engine had the right to it, in time, and once. */
export const onlyByRight: Check = (history) => {
  const done = new Set<string>();
  return committed(history).flatMap((entry) => {
    const { plan, input, epoch, before } = entry;
    return transitions(entry).flatMap(({ partition, state, commandId, source, changedBy }) => {
      const command = input.kind === 'tick' ? byTheClock(input, commandId, changedBy) : commandOf(input);
      if (state !== 'disarmed' || command === undefined) return [];
      const { at } = input;
      const key = `${epoch} ${command.id} ${partition}`;
      const needsCode = plan.disarmNeedsCode || before.partitions[partition]?.state === 'unknown';
      const { armedBy } = before.periods[partition] ?? {};
      const faults = {
        'by another command': commandId !== command.id || source !== command.source,
        'a second time': done.has(key),
        'by a wrong code': command.code === 'bad',
        'without a code':
          needsCode && command.code === 'none' && command.source !== 'cloud' && command.source !== 'schedule',
        'too late': at.clock !== 'doubtful' && at.wall - command.issuedAt > 60_000,
        'before its time': at.clock !== 'doubtful' && command.issuedAt - at.wall > 30_000,
        'by the cloud at a doubtful hour': command.source === 'cloud' && at.clock === 'doubtful',
        'by another schedule':
          command.source === 'schedule' &&
          (at.clock !== 'synced' || armedBy?.source !== 'schedule' || armedBy.actor !== command.actor),
      };
      done.add(key);
      return Object.entries(faults).flatMap(([what, is]) =>
        is ? [`${partition} is disarmed ${what}: ${shown(entry)}`] : [],
      );
    });
  });
};

/**
 * What a panel owns stands as its panel last said it does, whatever anybody wished. A retained word that protects less than what is
 * known is older than it for all that can be told, and counts for nothing (safety 2).
 */
export const asThePanelSays: Check = (history) => {
  const wrong: string[] = [];
  let up: { bridge: boolean | null; device: boolean | null } = { bridge: null, device: null };
  let held: Record<string, ArmingWord> = {};
  let last: Record<string, ArmingWord | undefined> = {};
  for (const entry of history) {
    if (!isDecided(entry)) {
      last = words(entry.after);
      continue;
    }
    const { input, plan, after } = entry;
    if (input.kind === 'started') [up, held] = [{ bridge: null, device: null }, {}];
    const signal = signalOf(input);
    if (signal?.kind === 'link' && signal.source.kind === 'panel') up = { ...up, [signal.layer]: signal.up };
    const alive = up.bridge !== false && up.device !== false && (up.bridge ?? up.device) !== null;
    if (signal?.kind === 'partition') {
      if (partitionIn(plan, signal.partition)?.authority === 'engine') continue;
      if (signal.replay && !alive) held[signal.partition] = signal.state;
      else if (!(signal.replay && isDoubted(entry, signal.partition, signal.state))) {
        last[signal.partition] = signal.state;
        // What is told live is newer than what was retained.
        delete held[signal.partition];
      }
    }
    if (alive) {
      for (const [id, word] of Object.entries(held)) if (!isDoubted(entry, id, word)) last[id] = word;
      held = {};
    }
    // Under another authority the word of the former one counts no more.
    if (entry.before.authority?.securityType !== after.authority?.securityType) last = words(after);
    for (const { id, authority } of plan.partitions) {
      if (authority === 'engine') last[id] = after.partitions[id]?.state;
      else if (after.partitions[id]?.state !== last[id])
        wrong.push(`${id} is ${after.partitions[id]?.state}, its panel said ${last[id]}: ${shown(entry)}`);
    }
  }
  return wrong;
};

const isDoubted = ({ before }: Decided, id: string, word: ArmingWord): boolean =>
  isCalmer(before.partitions[id]?.state ?? 'unknown', word);

const words = ({ partitions }: SiteState): Record<string, ArmingWord | undefined> =>
  Object.fromEntries(Object.values(partitions).map(({ id, state }) => [id, state]));

const refusedOutcomes: readonly string[] = ['refused', 'expired', 'superseded'];

/** Every command is answered, and a refused one changes nothing that anybody can see. */
export const refusedIsNothing: Check = (history) =>
  decisions(history).flatMap((entry) => {
    const { before, after, effects } = entry;
    const command = commandOf(entry.input);
    if (command === undefined) return [];
    const reply = replies(entry).find(({ commandId }) => commandId === command.id);
    if (reply === undefined) return [`no answer: ${shown(entry)}`];
    if (!refusedOutcomes.includes(reply.outcome)) return [];
    const bypassed = (state: SiteState) => Object.values(state.periods).map((period) => period.bypassed);
    // Safety 7: a schedule that cannot arm says so.
    const isSaid = (effect: Effect) =>
      command.source === 'schedule' && effect.kind === 'event' && effect.event.schedule !== undefined;
    // Safety 9: in those of its partitions where there was nothing to change, what a rule plays ends all the same.
    const isHushed = (effect: Effect) =>
      effect.kind === 'silence' &&
      (command.verb === 'silence' || before.partitions[effect.partition]?.state === 'disarmed');
    const loud = effects.filter(
      (effect) => effect.kind !== 'reply' && effect.kind !== 'audit' && !isSaid(effect) && !isHushed(effect),
    );
    const changes = {
      partitions: before.partitions !== after.partitions,
      zones: before.zones !== after.zones,
      timers: before.timers !== after.timers,
      bypasses: !isDeepStrictEqual(bypassed(before), bypassed(after)),
      effects: command.code !== 'duress' && loud.length > 0,
    };
    return Object.entries(changes).flatMap(([what, is]) =>
      is ? [`refused ${reply.error?.code}, and yet ${what}: ${shown(entry)}`] : [],
    );
  });

const modes = { narrow: ['home', 'night'], wide: ['away', 'vacation', 'custom'] };

/** A mode that protects less needs the rights of a disarm. */
export const lessNeedsRights: Check = (history) =>
  decisions(history).flatMap((entry) => {
    const command = entry.input.kind === 'tick' ? byTheClock(entry.input, '', undefined) : commandOf(entry.input);
    if (command === undefined) return [];
    return transitions(entry).flatMap(({ partition, mode }) => {
      const was = entry.before.partitions[partition];
      const isSet = was !== undefined && (was.state.startsWith('armed_') || was.state === 'arming');
      const reduces = isSet && modes.wide.includes(was.mode ?? '') && modes.narrow.includes(mode ?? '');
      if (!reduces || partitionIn(entry.plan, partition)?.authority !== 'engine') return [];
      const { code, source } = command;
      const may = source === 'cloud' || code === 'ok' || code === 'duress' || !entry.plan.disarmNeedsCode;
      return may && source !== 'schedule' && code !== 'bad'
        ? []
        : [`${partition} is reduced to ${mode}: ${shown(entry)}`];
    });
  });

const isKept = (state: SiteState): boolean => {
  const text = writeState(state);
  const read = readState(text);
  // Members may stand in another order.
  return read !== undefined && isDeepStrictEqual(JSON.parse(writeState(read)), JSON.parse(text));
};

/** What the store gives back is what was written, and it does not grow without end. */
export const staysWhole: Check = (history) =>
  history.flatMap((entry) => {
    if (isDecided(entry) && entry.effects.length === 0) return [];
    const { after, plan } = entry;
    const owners = plan.partitions.length * (5 + 2 * plan.zones.length) + 2 * Object.keys(after.troubles).length;
    return [
      ...(isKept(after) ? [] : [`not readable again: ${shown(entry)}`]),
      ...(Object.keys(after.timers).length <= owners ? [] : [`${Object.keys(after.timers).length} timers`]),
    ];
  });
