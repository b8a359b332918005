import { z } from 'zod';
import { defineOperation } from '#lib/contract/operation.ts';
import type { ArmingStatusForm } from './dialect.ts';
import { answerTime, count, flag, oneOf, record } from './fields.ts';
import { checkedRefusals, json, partner, refusals, siteParams, sitePath } from './partner.ts';

export const armingStates = ['armed', 'disarmed'] as const;
export type ArmingState = (typeof armingStates)[number];

/** The specification shows neither body; this is the default form of both (S-142). */
export const armingStatus = z.object({ status: z.enum(armingStates), updated_at: answerTime() });

export const armingStatusUpdate = record({ status: oneOf(armingStates) });

const shared = {
  ...partner,
  path: `${sitePath}/arming-status`,
  params: siteParams,
  repeatable: 'yes',
  availability: 'ready for B',
  rules: ['S-142'],
  tags: ['arming'],
} as const;
const status = { 200: { description: 'The status', schema: armingStatus } } as const;

const getArmingStatus = defineOperation({
  ...shared,
  id: 'getArmingStatus',
  method: 'GET',
  summary: 'Read whether a site is armed',
  responses: { ...status, ...refusals },
});

const updateArmingStatus = defineOperation({
  ...shared,
  id: 'updateArmingStatus',
  method: 'PUT',
  summary: 'Arm or disarm a site',
  body: json(armingStatusUpdate),
  responses: { ...status, ...checkedRefusals },
});

export const armingStatusOperations = { getArmingStatus, updateArmingStatus } as const;

/** One way to say the state: what a strict server takes, and both directions. */
interface Form {
  readonly request: z.ZodType<ArmingState>;
  write(state: ArmingState): Readonly<Record<string, unknown>>;
}

const stateOf = (armed: boolean): ArmingState => (armed ? 'armed' : 'disarmed');

/** Every form a service may turn out to use. */
const forms: Readonly<Record<ArmingStatusForm, Form>> = {
  status: {
    request: armingStatusUpdate.transform(({ status }) => status),
    write: (state) => ({ status: state }),
  },
  arming_status: {
    request: record({ arming_status: oneOf(armingStates) }).transform(({ arming_status }) => arming_status),
    write: (state) => ({ arming_status: state }),
  },
  action: {
    request: record({ action: oneOf(['arm', 'disarm']) }).transform(({ action }) => stateOf(action === 'arm')),
    write: (state) => ({ action: state === 'armed' ? 'arm' : 'disarm' }),
  },
  is_armed: {
    request: record({ is_armed: flag() }).transform(({ is_armed }) => stateOf(is_armed)),
    write: (state) => ({ is_armed: state === 'armed' }),
  },
  is_armed_number: {
    request: record({ is_armed: count(0, 1) }).transform(({ is_armed }) => stateOf(is_armed === 1)),
    write: (state) => ({ is_armed: state === 'armed' ? 1 : 0 }),
  },
};

/** The body that says a state in the given form. */
export const armingStatusBody = (form: ArmingStatusForm, state: ArmingState): Readonly<Record<string, unknown>> =>
  forms[form].write(state);

/** What a strict server takes in the given form; it comes out as the state itself. */
export const armingStatusRequest = (form: ArmingStatusForm): z.ZodType<ArmingState> => forms[form].request;
