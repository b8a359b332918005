import { describe, expect, it } from 'vitest';
import {
  activationBody,
  armingStates,
  armingStatusBody,
  armingStatusForms,
  armingStatusRequest,
  audioOperations,
  audioOperationsFor,
  cloudOperations,
  defaultDialect,
  dialectOptions,
  linkBody,
  publicOperations,
  publicOperationsFor,
  serverDialectOptions,
} from '#cloud/contract/index.ts';
import { problemsOf } from './check.ts';

describe('the dialect', () => {
  it('has the choices of the decisions as its defaults', () => {
    expect(defaultDialect()).toEqual({
      event_version: '1.0',
      restored_status: 'restored',
      cancelled_status: 'restored',
      activation_body: 'none',
      link_body: 'none',
      arming_status_form: 'status',
      ref_path: '/ref/v1/sites/{account_reference_id}',
      verification_call: 'patch',
      public_paths: false,
      upload_resume: 'off',
    });
  });

  it('of the server has the choices of the checklist as its defaults', () => {
    expect(serverDialectOptions.parse({})).toEqual({
      activation_body: 'none',
      link_body: 'none',
      arming_status_form: 'status',
      ref_path: '/ref/v1/sites/{account_reference_id}',
      profile: 'all',
      strict_unknown: false,
      site_time_style: 'iso',
      arming_status_wrapped: false,
      over_limit: 'clamp',
      duplicate_status: 400,
      security_type: 4,
      activation_sets: true,
      token_expires_in: true,
      verification_life_s: 300,
      upload_resume: 'off',
    });
  });
});

describe('the body of an activation', () => {
  it.each([
    ['none', undefined, undefined],
    ['empty_object', {}, {}],
    ['is_activated', { is_activated: 1 }, { is_activated: 0 }],
  ] as const)('in the form %s is one the contract takes', (activation_body, on, off) => {
    expect(activationBody({ activation_body }, true)).toEqual(on);
    expect(activationBody({ activation_body }, false)).toEqual(off);
    expect(problemsOf(cloudOperations.changeActivation.body.schema, on ?? {})).toEqual([]);
  });
});

it('the body of a link is absent unless the dialect wants an empty object', () => {
  expect(linkBody({ link_body: 'none' })).toBeUndefined();
  expect(linkBody({ link_body: 'empty_object' })).toEqual({});
});

describe('the arming status', () => {
  it.each(armingStatusForms)('in the form %s is read back as it was written', (form) => {
    for (const state of armingStates) {
      expect(armingStatusRequest(form).parse(armingStatusBody(form, state))).toBe(state);
    }
  });

  it('in each form differs from every other', () => {
    const bodies = armingStatusForms.map((form) => JSON.stringify(armingStatusBody(form, 'armed')));
    expect(bodies).toEqual([
      '{"status":"armed"}',
      '{"arming_status":"armed"}',
      '{"action":"arm"}',
      '{"is_armed":true}',
      '{"is_armed":1}',
    ]);
  });

  it.each([
    ['status', { status: 'home' }],
    ['arming_status', { status: 'armed' }],
    ['action', { action: 'armed' }],
    ['is_armed', { is_armed: 1 }],
    ['is_armed_number', { is_armed: 2 }],
    ['is_armed_number', { is_armed: true }],
  ] as const)('in the form %s is never guessed from %j', (form, body) => {
    expect(problemsOf(armingStatusRequest(form), body)).toHaveLength(1);
  });
});

describe('the reference path of audio calls', () => {
  it('is the one of the contract by default', () => {
    expect(audioOperationsFor(defaultDialect())).toEqual(audioOperations);
  });

  it('moves both calls by reference and no other', () => {
    const moved = audioOperationsFor({ ref_path: '/ref/v1/{account_reference_id}' });
    expect(Object.values(moved).map((operation) => operation.path)).toEqual([
      '/ext/v1/sites/{site_id}/audio-messages',
      '/ext/v1/sites/{site_id}/audio-messages/{audio_message_id}/play',
      '/ref/v1/{account_reference_id}/audio-messages',
      '/ref/v1/{account_reference_id}/audio-messages/{audio_message_id}/play',
    ]);
  });

  it.each(['/ref/v1/sites', 'ref/{account_reference_id}', '/../{account_reference_id}', '/a?b/{account_reference_id}'])(
    'may not be %s',
    (ref_path) => {
      expect(problemsOf(dialectOptions, { ref_path })).toEqual([
        'ref_path: must be a path with {account_reference_id}',
      ]);
    },
  );
});

it('of the public interface only the known path may be called unless the dialect says more', () => {
  expect(Object.keys(publicOperationsFor({ public_paths: false }))).toEqual(['armPartition']);
  expect(publicOperationsFor({ public_paths: true })).toEqual(publicOperations);
});
