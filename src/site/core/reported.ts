import type { EventDraft, ReportedCode, Signal, SignalOf } from '#site/model/index.ts';
import { deviceName, reportedAs } from './events.ts';
import { conditionChanged, conditionPulsed, endKept, givenWay } from './supervision.ts';
import type { TroubleState } from './types.ts';
import type { Work } from './work.ts';

type TroubleSignal = SignalOf<'trouble'>;

/** Troubles of one panel that are followed each by itself; the oldest gives way. */
const apartCap = 64;

/** A trouble by the word of an adapter. A panel that reports as to a station has many of one kind, each with its end. */
export function troubleSignal(work: Work, signal: TroubleSignal): void {
  const { code, trouble: kind, apart, active } = signal;
  const trouble = { ...signal, kind, reported: code };
  if (signal.pulse === true) {
    conditionPulsed(work, { ...trouble, ended: code });
    makeRoom(work, signal);
  } else if (apart === undefined || code === undefined) conditionChanged(work, { ...trouble, ended: code });
  else if (active) {
    conditionChanged(work, trouble);
    makeRoom(work, signal);
  } else {
    for (const held of heldOf(work, signal).filter((one) => isEnded(one, signal, code))) {
      const { reported, zone, apart: isApart } = held;
      conditionChanged(work, { ...trouble, reported, zone, apart: isApart, ended: code });
    }
  }
}

const heldOf = (work: Work, { source }: TroubleSignal): readonly TroubleState[] =>
  Object.values(work.state.troubles).filter((one) => deviceName(one.source) === deviceName(source));

/** Panels are careless with the number of an end. */
function isEnded(held: TroubleState, signal: TroubleSignal, { number }: ReportedCode): boolean {
  const { trouble, zone, reported, apart } = held;
  // An end without a number names no zone either, and a zone may have been configured meanwhile.
  const isOfZone = zone === signal.zone || (apart === true && (zone === undefined || signal.zone === undefined));
  if (trouble !== signal.trouble || !isOfZone) return false;
  // An earlier version did not keep what it was.
  if (reported === undefined) return true;
  const isOfCode = signal.ends === undefined || signal.ends === reported.code;
  return isOfCode && (number === undefined || reported.number === undefined || number === reported.number);
}

function makeRoom(work: Work, signal: TroubleSignal): void {
  const { source } = signal;
  const apart = Object.entries(work.state.troubles).filter(
    ([, one]) => one.apart === true && deviceName(one.source) === deviceName(source),
  );
  const [oldest] = apart;
  if (apart.length <= apartCap || oldest === undefined) return;
  work.rules.add(givenWay);
  endKept(work, ...oldest, `no longer followed: the panel has told more than ${apartCap} troubles without their end`);
}

/** What a panel has reported stands in the events it has caused, with its own code. */
export function tellReported(work: Work, from: number, signal: Signal): void {
  if (!('code' in signal) || signal.code === undefined) return;
  const members = reportedAs(signal.code);
  for (const [index, effect] of work.effects.entries()) {
    if (index < from || effect.kind !== 'event' || !isOf(effect.event, signal)) continue;
    work.effects[index] = { ...effect, event: { ...effect.event, ...members } };
  }
}

/** Whether an event tells this very report, and not what follows from it. Troubles carry theirs from the beginning. */
function isOf({ class: about, kind, status, zone }: EventDraft, signal: Signal): boolean {
  const isAlarm = about === 'alarm' || kind === 'further_zone';
  switch (signal.kind) {
    case 'alarm':
      return isAlarm && status === 'active';
    case 'zone':
      return isAlarm && zone === signal.zone && status === ((signal.alarm ?? signal.tamper) ? 'active' : 'restored');
    case 'partition':
      return signal.state === 'triggered' ? isAlarm && status === 'active' : about === 'arming';
    case 'test':
      return about === 'test';
    default:
      return false;
  }
}
