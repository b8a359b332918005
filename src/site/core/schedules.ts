import {
  type ArmMode,
  type Command,
  type Deadline,
  isSet,
  type PartitionId,
  type ScheduleAction,
  type ScheduledArm,
  type SchedulePlan,
  type SchedulesPlan,
} from '#site/model/index.ts';
import { command } from './command.ts';
import { emit } from './events.ts';
import { deviceUp } from './link.ts';
import { isReady, leaveOut } from './ready.ts';
import {
  emptySchedules,
  type MissedSlot,
  minuteMs,
  type SchedulesMemory,
  type SchedulesState,
  type SlotAction,
  type SlotWarning,
  scheduleTick,
  toleranceMs,
  type WaitingArm,
} from './schedule/index.ts';
import { clientOf, failToArm, isArmedNow, notRun, scheduleEvent } from './schedule-report.ts';
import { now, since } from './timers.ts';
import { forgetUnplanned, runsAgain } from './unarmed.ts';
import { own, partitionOf, partitionPlan, type Work, zonePlan } from './work.ts';

/** After a start of siteward devices have so long to be heard before a missed arming is judged by them. */
const hearMs = 2 * minuteMs;
/** A tick with nothing to do is remembered so rarely: each memory is a write to the disk. */
const rememberMs = 10 * minuteMs;
const stepMs = 2 * minuteMs;
/** A command lives for ten minutes (C1); one that was held up by a power cut is younger than its slot. */
const oldestMs = 5 * minuteMs;

const stateOf = (work: Work): SchedulesState => work.state.schedules ?? { memory: emptySchedules };

function setState(work: Work, schedules: SchedulesState): void {
  work.state = { ...work.state, schedules };
}

/** Called with each start. */
export function noteStart(work: Work): void {
  if (work.plan.schedules !== undefined) setState(work, { ...stateOf(work), startedAt: now(work.at) });
}

/**
 * The schedules look at the clock (C12). What they do to a partition goes through the gate like any other command, one
 * command per partition under an id that is fixed by schedule, date and time: it is never done twice (C2).
 */
export function tick(work: Work): void {
  const plan = work.plan.schedules;
  if (plan === undefined) {
    const { schedules: forgotten, ...rest } = work.state;
    if (forgotten !== undefined) work.state = rest;
    return;
  }
  forgetUnplanned(work);
  const { memory: before } = stateOf(work);
  const found = scheduleTick(plan, before, work.at);
  const isQuiet = found.due.length + found.warnings.length + found.missed.length === 0;
  if (isQuiet && stateOf(work).waiting === undefined && isAsBefore(work, before, found.memory)) return;
  work.rules.add('C12');
  setState(work, { ...stateOf(work), memory: found.memory });
  for (const warning of found.warnings) warn(work, warning);
  for (const missed of found.missed) miss(work, missed);
  for (const due of found.due) perform(work, plan, due);
  lookAtWaiting(work, plan);
}

/** Nothing worth keeping has changed: no clock was set, and the last tick that is kept is young. */
function isAsBefore(work: Work, before: SchedulesMemory, after: SchedulesMemory): boolean {
  const { seen } = before;
  if (seen === undefined || seen.boot !== work.at.boot) return false;
  const passedMs = work.at.mono - seen.mono;
  if (passedMs >= rememberMs || Math.abs(work.at.wall - seen.wall - passedMs) > stepMs) return false;
  const ids = Object.keys(after.schedules);
  const isSame = ids.length === Object.keys(before.schedules).length;
  return isSame && ids.every((id) => before.schedules[id] === after.schedules[id]);
}

function warn(work: Work, { schedule, due, action }: SlotWarning): void {
  for (const partition of action.partitions) {
    if (isSet(partitionOf(work, partition).state)) continue;
    scheduleEvent(work, {
      class: 'arming',
      kind: 'auto_arm_warning',
      partition,
      schedule: { id: schedule, at: due },
    });
  }
}

function miss(work: Work, { schedule: id, due, action, reason }: MissedSlot): void {
  const schedule = { id, at: due, reason };
  if (action.kind !== 'arm') {
    notRun(work, schedule);
    return;
  }
  const quiet = work.at.clock === 'doubtful';
  for (const partition of action.partitions) {
    if (!isArmedNow(work, partition)) failToArm(work, partition, { schedule }, { late: true, quiet });
  }
}

function perform(work: Work, plan: SchedulesPlan, slot: SlotAction): void {
  const { schedule: id, action, due } = slot;
  switch (action.kind) {
    case 'arm':
      takeUp(work, plan, slot, action);
      break;
    case 'disarm':
      undo(work, plan, slot, action);
      break;
    case 'announce':
      scheduleEvent(work, {
        class: 'audio',
        kind: 'announcement',
        schedule: { id, at: due, message: action.message },
      });
      break;
    case 'testReport':
      testReport(work, slot);
      break;
    default:
      action satisfies never;
  }
}

/** Proves the way to the station: the only report that is signalled although nothing is wrong. */
function testReport(work: Work, { schedule: id, due }: SlotAction): void {
  emit(work, {
    class: 'test',
    kind: 'periodic_test',
    status: 'active',
    lane: 'trouble',
    contactId: '602',
    sia: 'RP',
    source: 'schedule',
    actor: id,
    schedule: { id, at: due },
    signalToStation: true,
    toCloud: true,
    media: [],
  });
}

const commandId = (plan: SchedulesPlan, { schedule, slot, again }: SlotAction, partition: PartitionId): string =>
  [slot, scheduleOf(plan, schedule)?.at, partition, ...(again === undefined ? [] : [again])].join('/');

const scheduleOf = (plan: SchedulesPlan, id: string): SchedulePlan | undefined =>
  plan.schedules.find((schedule) => schedule.id === id);

const armOf = (plan: SchedulesPlan, id: string): ScheduledArm | undefined => {
  const action: ScheduleAction | undefined = scheduleOf(plan, id)?.action;
  return action?.kind === 'arm' ? action : undefined;
};

function undo(
  work: Work,
  plan: SchedulesPlan,
  slot: SlotAction,
  { schedule: actor }: Extract<ScheduleAction, { kind: 'disarm' }>,
): void {
  for (const partition of armOf(plan, actor)?.partitions ?? []) {
    const id = commandId(plan, slot, partition);
    command(work, { ...given(id, slot.schedule), verb: 'disarm', partition, actor, issuedAt: work.at.wall });
  }
}

const given = (id: string, schedule: string) =>
  ({
    id,
    source: 'schedule',
    client: clientOf(schedule),
    code: 'none',
    bodyHash: id,
  }) as const satisfies Partial<Command> & {
    readonly id: string;
  };

/** Each partition is armed as soon as nothing is in its way. */
function takeUp(work: Work, plan: SchedulesPlan, slot: SlotAction, { partitions }: ScheduledArm): void {
  runsAgain(work, slot.schedule);
  const from = now(work.at);
  const taken = partitions.map((partition): [string, WaitingArm] => [
    commandId(plan, slot, partition),
    { schedule: slot.schedule, slot: slot.slot, partition, due: slot.due, from },
  ]);
  const state = stateOf(work);
  setState(work, { ...state, waiting: { ...state.waiting, ...Object.fromEntries(taken) } });
}

function lookAtWaiting(work: Work, plan: SchedulesPlan): void {
  const { waiting } = stateOf(work);
  if (waiting === undefined) return;
  const stays = Object.entries(waiting).filter(([id, arm]) => {
    const action = armOf(plan, arm.schedule);
    // An edit took it away: what the configuration does not say is not done.
    if (action?.partitions.includes(arm.partition) !== true) return false;
    if (mustWait(work, arm, action)) return true;
    armNow(work, id, arm, action);
    return false;
  });
  const { waiting: _, ...now } = stateOf(work);
  setState(work, stays.length === 0 ? now : { ...now, waiting: Object.fromEntries(stays) });
}

function mustWait(work: Work, { partition, from }: WaitingArm, { mode, waitMs }: ScheduledArm): boolean {
  const { state, request } = partitionOf(work, partition);
  if (isSet(state)) return false;
  const plan = partitionPlan(work, partition);
  const ofPanel = plan?.authority === 'panel';
  const isClear = ofPanel
    ? plan.panel !== undefined && deviceUp(work, { kind: 'panel', id: plan.panel }) === true && request === undefined
    : isReady(work, partition, mode);
  if (isClear) return false;
  if (isWithin(work, from, waitMs)) return true;
  return isWithin(work, stateOf(work).startedAt, hearMs) && (ofPanel || isUnheard(work, partition, mode));
}

/** Something in the way has not been heard since the start, so it may be closed all the same. */
function isUnheard(work: Work, partition: PartitionId, mode: ArmMode): boolean {
  const { blocking } = leaveOut(work, partition, { mode, bypass: [], force: false });
  return blocking.some((number) => {
    const source = zonePlan(work.plan, number)?.source;
    if (source === undefined || typeof deviceUp(work, source) !== 'boolean') return true;
    return source.kind === 'panel' && own(work.state.zones, number)?.open === null;
  });
}

/** A moment ahead is one of a clock that went back since: nobody knows how long ago it was. */
function isWithin(work: Work, moment: Deadline | undefined, ms: number): boolean {
  if (moment === undefined) return false;
  const passedMs = since(work.at, moment);
  return passedMs >= 0 && passedMs < ms;
}

/** The command is as old as its wait: what somebody on the site did meanwhile is newer (C3). */
function armNow(work: Work, id: string, arm: WaitingArm, { mode, notReady }: ScheduledArm): void {
  const { schedule, partition, due, from } = arm;
  const waitedMs = Math.max(0, since(work.at, from));
  if (waitedMs > toleranceMs.arm) {
    const about = { schedule: { id: schedule, at: due, reason: 'late' } };
    if (!isArmedNow(work, partition)) failToArm(work, partition, about, { late: true });
    return;
  }
  command(work, {
    ...given(id, schedule),
    verb: 'arm',
    partition,
    mode,
    ...(notReady === 'bypass' && { force: true }),
    actor: schedule,
    issuedAt: work.at.wall - Math.min(waitedMs, oldestMs),
  });
}
