import { describe, expect, it } from 'vitest';
import { cloudOperations, instant } from '#cloud/contract/index.ts';
import { problemsOf } from './check.ts';

const { getSite, getDevice, answerVerification, listSites, listActivityLogs, getPartition } = cloudOperations;

describe('an id in a path', () => {
  it.each(['1', '42', '9007199254740991', '9999999999999999'])('may be %s', (siteId) => {
    expect(problemsOf(getSite.params, { dealerId: '1', siteId })).toEqual([]);
  });

  it.each(['', '0', '007', '1e3', 'abc', '-1', '+1', '1.0', ' 1', '1\n', '0x1', '12345678901234567', '١'])(
    'that is %j addresses nothing (S-016)',
    (siteId) => {
      expect(problemsOf(getSite.params, { dealerId: '1', siteId })).toEqual(['siteId: must be an id of the service']);
    },
  );

  it('of a device is text in the path, as all others (S-016)', () => {
    expect(getDevice.params.parse({ dealerId: '1', siteId: '2', deviceId: '3' }).deviceId).toBe('3');
  });

  it('of a verification must be a UUID (S-152)', () => {
    const params = (verificationId: string) => ({ dealerId: '1', siteId: '2', verificationId });
    const uuid = 'c0ffee00-1234-4abc-8def-0123456789ab';
    expect(problemsOf(answerVerification.params, params(uuid))).toEqual([]);
    expect(problemsOf(answerVerification.params, params(uuid.toUpperCase()))).toEqual([]);
    expect(problemsOf(answerVerification.params, params('17'))).toEqual(['verificationId: must be a UUID']);
  });

  it('of a partition is any text', () => {
    expect(problemsOf(getPartition.params, { partition_id: 'p 1/ä' })).toEqual([]);
  });
});

describe('the query of the site list', () => {
  it('takes several filters and leaves unknown parameters out (S-012, S-082)', () => {
    expect(listSites.query.parse({ filter: ['name,a,eq', 'site_id,1,gt'], limit: '10', page: '2' })).toEqual({
      filter: ['name,a,eq', 'site_id,1,gt'],
      limit: '10',
    });
  });

  it.each(['fields', 'sort', 'dir', 'limit', 'offset'])('refuses %s given twice (S-088)', (name) => {
    expect(problemsOf(listSites.query, { [name]: ['1', '2'] })).toEqual([`${name}: must be given once`]);
  });
});

describe('the query of the activity log (S-144, S-145)', () => {
  const query = listActivityLogs.query;

  it('becomes numbers where numbers are meant', () => {
    expect(query.parse({ limit: '5', offset: '0' })).toEqual({ limit: 5, offset: 0 });
  });

  it.each([
    [{}],
    [{ startDate: '2030-01-01' }],
    [{ startDate: '2030-01-01T00:00:00Z', endDate: '2030-01-01T01:00:00+01:00' }],
    [{ limit: '1' }],
    [{ limit: '1000' }],
  ])('takes %j', (value) => {
    expect(problemsOf(query, value)).toEqual([]);
  });

  const time = 'must be an ISO 8601 time such as 2030-01-31T00:00:00Z';
  const limit = 'limit: must be a whole number from 1 to 1000';
  it.each([
    [{ startDate: 'yesterday' }, `startDate: ${time}`],
    [{ startDate: '' }, `startDate: ${time}`],
    [{ endDate: '2030-13-01' }, `endDate: ${time}`],
    [{ startDate: ['2030-01-01', '2030-01-02'] }, 'startDate: must be given once'],
    [{ startDate: '2030-01-02', endDate: '2030-01-01' }, 'endDate: must not be before startDate'],
    [{ limit: '0' }, limit],
    [{ limit: '1001' }, limit],
    [{ limit: '1.5' }, limit],
    [{ limit: 'ten' }, limit],
    [{ offset: '-1' }, 'offset: must be a whole number from 0 to 1000000000'],
  ])('refuses %j', (value, problem) => {
    expect(problemsOf(query, value)).toEqual([problem]);
  });
});

describe('a time without a zone', () => {
  it.each(['2030-01-01T00:00:00', '2030-01-01T00:00:00Z', '2030-01-01', '2030-01-01T02:00:00+02:00'])(
    'means UTC: %s (S-018)',
    (text) => {
      expect(instant(text)).toBe(Date.UTC(2030, 0, 1));
    },
  );
});
