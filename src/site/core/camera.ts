import {
  type DetectionClass,
  type DeviceId,
  type DeviceRef,
  isSet,
  type SignalOf,
  type TroubleKind,
  type ZonePlan,
  type ZoneType,
} from '#site/model/index.ts';
import { raise, soundAgain } from './alarm.ts';
import { calmSoon } from './calm.ts';
import { blinding, classOf, faults, levelKey, withKey } from './camera-levels.ts';
import { chime } from './chime.ts';
import { deviceName, localEvent } from './events.ts';
import { isAfterReturn, isSteady } from './link.ts';
import { conditionChanged, conditionPulsed, holds } from './supervision.ts';
import { isRunning, now } from './timers.ts';
import { closed, trip } from './trip.ts';
import { troubleKey } from './trouble.ts';
import { own, setZones, type Work, without, zoneOf } from './work.ts';

type DetectionSignal = SignalOf<'detection'>;

/**
 * The detections that open a camera's zone when its plan names none:
 *
 * | zone type                                      | opened by                                             |
 * |------------------------------------------------|-------------------------------------------------------|
 * | video_person_perimeter, video_person_interior  | person, vehicle, intrusion, line, loitering           |
 * | every other                                    | the same, and motion                                  |
 */
const meaningful: ReadonlySet<DetectionClass> = new Set(['person', 'vehicle', 'intrusion', 'line', 'loitering']);
const motionless: ReadonlySet<ZoneType> = new Set(['video_person_perimeter', 'video_person_interior']);

function opens(zone: ZonePlan, detection: DetectionClass): boolean {
  if (zone.detections.length > 0) return zone.detections.includes(detection);
  return meaningful.has(detection) || (detection === 'motion' && !motionless.has(zone.type));
}

const sightingCap = 16;

export function detectionSignal(work: Work, signal: DetectionSignal): void {
  const fault = faults[signal.detection];
  if (fault === undefined) seen(work, signal);
  else cameraFault(work, signal, fault);
}

function seen(work: Work, signal: DetectionSignal): void {
  // What happened once is no present state.
  if (signal.pulse && signal.replay) return;
  // Edges are told: what begins anew has ended unheard.
  if (!signal.pulse && signal.active && !signal.replay && isSeen(work, signal)) {
    seen(work, { ...signal, active: false, replay: true });
  }
  const before = work.events;
  const known = takeUp(work, signal);
  const edge = follow(work, signal);
  if (edge && !signal.replay && (meaningful.has(signal.detection) || signal.detection === 'motion')) see(work, signal);
  for (const zone of work.plan.zones) {
    if (watches(zone, signal.source) && opens(zone, signal.detection)) cameraZone(work, zone, signal, { edge, known });
  }
  if (edge && !signal.replay && work.events === before) {
    const { detection, source, item } = signal;
    const which = item === undefined ? {} : { detail: item };
    localEvent(work, { class: 'camera', kind: detection, camera: source.id, source: deviceName(source), ...which });
  }
}

/** Whether the zone is what this camera sees; a contact wired to it is none of it. */
const watches = ({ source, input }: ZonePlan, camera: DeviceRef): boolean =>
  input === undefined && source.kind === camera.kind && source.id === camera.id;

const isSeen = (work: Work, signal: DetectionSignal): boolean =>
  own(work.state.seeing, signal.source.id)?.includes(levelKey(signal)) === true;

/** Whether it lasts since before an interruption. Any word of it is newer than what was seen before. */
function takeUp(work: Work, signal: DetectionSignal): boolean {
  const { seenBefore = {} } = work.state;
  const { id } = signal.source;
  const keys = own(seenBefore, id) ?? [];
  const key = levelKey(signal);
  if (signal.pulse || !keys.includes(key)) return false;
  const left = keys.filter((one) => one !== key);
  const others = left.length > 0 ? { ...seenBefore, [id]: left } : without(seenBefore, id);
  work.state = { ...work.state, seenBefore: others };
  return signal.active && signal.replay;
}

/** Keeps the detections that last; true when this one begins. A pulse always begins and never lasts. */
function follow(work: Work, signal: DetectionSignal): boolean {
  if (signal.pulse) return signal.active;
  const { id } = signal.source;
  const key = levelKey(signal);
  const before = own(work.state.seeing, id) ?? [];
  if (before.includes(key) === signal.active) return false;
  const seeing = signal.active ? withKey(before, key) : before.filter((entry) => entry !== key);
  work.state = { ...work.state, seeing: { ...work.state.seeing, [id]: seeing } };
  return signal.active;
}

function see(work: Work, { source, detection }: DetectionSignal): void {
  const others = work.state.sightings.filter((entry) => entry.camera !== source.id || entry.detection !== detection);
  const sighting = { camera: source.id, detection, at: now(work.at) };
  work.state = { ...work.state, sightings: [...others, sighting].slice(-sightingCap) };
}

/**
 * A camera's zone is open while one of its detections lasts. A replay says what is seen now: it raises an alarm only
 * where nothing was known before, as after an interruption. One topic that tells "nothing" then is not yet the last word.
 */
function cameraZone(
  work: Work,
  zone: ZonePlan,
  signal: DetectionSignal,
  { edge, known }: { readonly edge: boolean; readonly known: boolean },
): void {
  const before = zoneOf(work.state, zone.number);
  if (before === undefined) return;
  const level = lasting(work, signal.source.id, zone);
  if (before.open !== level) setZones(work, [{ ...before, open: level, at: work.at.wall }]);
  const counts = !signal.replay || before.open === null || !isSteady(work, signal.source);
  const begins = signal.pulse ? edge && !level : level && before.open !== true;
  if (begins && !signal.replay) chime(work, zone, deviceName(zone.source));
  if (begins && counts) {
    const again = signal.replay || (before.open === null && !signal.pulse && !isAfterReturn(work, signal));
    const { pulse, replay: late } = signal;
    trip(work, zone, { late, motion: signal.detection === 'motion', pulse, again, known });
  } else if (level) return;
  else if (before.open === true) closed(work, zone, true);
  else if (before.alarm && !signal.pulse && !isRunning(work, 'calm', { zone: zone.number })) calmSoon(work, zone);
}

const lasting = (work: Work, camera: DeviceId, zone: ZonePlan): boolean =>
  (own(work.state.seeing, camera) ?? []).some((key) => opens(zone, classOf(key)));

/**
 * Covering or blinding a camera is a trouble, and a tamper alarm as well while it guards an armed partition or one of
 * unknown arming. A trouble lasts while any of the things it stands for does: two disks are one trouble.
 */
function cameraFault(work: Work, signal: DetectionSignal, kind: TroubleKind): void {
  const { source, detection, active, pulse, replay } = signal;
  if (pulse && replay) return;
  const known = holds(work, troubleKey(kind, source));
  if (active && !known && !isBefore(work, signal)) blinded(work, signal);
  const trouble = { kind, source, detail: signal.item ?? detection };
  if (pulse) conditionPulsed(work, { ...trouble, active });
  else {
    follow(work, signal);
    noteClear(work, signal);
    const left = own(work.state.seeing, source.id) ?? [];
    conditionChanged(work, { ...trouble, active: left.some((key) => classOf(key) === detection) });
  }
}

const clearKey = ({ source, detection }: DetectionSignal): string => `${deviceName(source)}|${detection}`;
const clearCap = 512;

/**
 * Some cameras say from their first word on, and for ever, that they are covered. Nobody has covered one that never said
 * anything else: it is a trouble, told once, and no alarm.
 */
const isBefore = (work: Work, signal: DetectionSignal): boolean =>
  signal.replay && work.state.wasClear?.includes(clearKey(signal)) !== true;

function noteClear(work: Work, signal: DetectionSignal): void {
  const { wasClear = [] } = work.state;
  const key = clearKey(signal);
  if (signal.active || !blinding.has(signal.detection) || wasClear.includes(key)) return;
  work.state = { ...work.state, wasClear: [...wasClear, key].slice(-clearCap) };
}

function blinded(work: Work, { source, detection, replay }: DetectionSignal): void {
  if (!blinding.has(detection)) return;
  const camera = work.plan.cameras.find(({ id }) => id === source.id);
  const zone = work.plan.zones.find((plan) => watches(plan, source));
  const ids = [...new Set([...(zone?.partitions ?? []), ...(camera?.partitions ?? [])])];
  for (const id of ids) {
    const partition = own(work.state.partitions, id);
    if (partition === undefined) continue;
    // A lost picture may be a camera that starts; one that is covered was covered by somebody (safety 2).
    const flagged = detection === 'tamper' && (partition.state === 'unknown' || partition.stale);
    if (!flagged && (!isSet(partition.state) || partition.mode === null)) continue;
    if (flagged) work.rules.add('safety 2');
    const detail = detection;
    const about = { partition: id, zone, camera: source.id, source: deviceName(source), detail, flagged };
    soundAgain(work, ids);
    raise(work, { kind: 'tamper', ...about, ...(replay ? { late: true } : {}) });
    return;
  }
}

/** A clock in doubt says nothing about the clocks of others; once it is good, they are compared again. */
export const isOwnClock = (work: Work, { trouble, source, active }: SignalOf<'trouble'>): boolean =>
  trouble === 'clock' && active && (source.kind === 'camera' || source.kind === 'nvr') && work.at.clock === 'doubtful';
