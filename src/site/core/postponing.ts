import type { Command } from '#site/model/index.ts';
import { emit, place } from './events.ts';
import { mayDo, refuse } from './gate.ts';
import { type PostponeRefusal, postpone } from './schedule/index.ts';
import type { Failure } from './types.ts';
import type { Work } from './work.ts';

/** What a refusal is called in an answer; each pair of code and field means one of them. */
const refusals: Readonly<Record<PostponeRefusal, Pick<Failure, 'code' | 'field'>>> = {
  unknown_schedule: { code: 'UNKNOWN_TARGET', field: 'schedule' },
  not_an_arm: { code: 'NOT_ALLOWED', field: 'schedule' },
  bad_minutes: { code: 'SCHEMA', field: 'minutes' },
  no_slot: { code: 'CONFLICT', field: 'schedule' },
  too_often: { code: 'NOT_ALLOWED', field: 'times' },
  too_long: { code: 'NOT_ALLOWED', field: 'minutes' },
};

/**
 * Puts the next arming of a schedule off. It keeps a site open for longer, so it always takes a code, of somebody who
 * may disarm. The age of the command and the code itself were checked.
 */
export function postponeArming(work: Work, command: Command): Failure | { due: number; timesLeft: number } {
  const { schedule = '', minutes = Number.NaN, code, actor, source } = command;
  work.rules.add('safety 7');
  if (code === 'none') return refuse('CODE_REQUIRED', { field: 'code' });
  if (!mayDo(command, 'disarm')) return refuse('NOT_ALLOWED', { field: 'code' });
  const plan = work.plan.schedules;
  const state = work.state.schedules;
  const action = plan?.schedules.find(({ id }) => id === schedule)?.action;
  if (plan === undefined || action === undefined) return refusal('unknown_schedule');
  if (state === undefined) return refusal('no_slot');
  const put = postpone(plan, state.memory, { schedule, minutes }, work.at);
  if ('refused' in put) return refusal(put.refused);
  work.state = { ...work.state, schedules: { ...state, memory: put.memory } };
  for (const partition of action.kind === 'arm' ? action.partitions : []) {
    emit(work, {
      class: 'arming',
      kind: 'auto_arm_postponed',
      status: 'active',
      lane: 'arming',
      ...place(work, { partition }),
      contactId: '464',
      sia: 'CE',
      source,
      ...(actor !== undefined && { actor }),
      schedule: { id: schedule, at: put.due },
      signalToStation: false,
      toCloud: true,
      media: [],
    });
  }
  return { due: put.due, timesLeft: put.timesLeft };
}

function refusal(why: PostponeRefusal): Failure {
  const { code, field } = refusals[why];
  return refuse(code, field === undefined ? {} : { field });
}
