import { describe, expect, it } from 'vitest';
import { checkItem, cloudOperations, deviceCreate, deviceUpdate } from '#cloud/contract/index.ts';
import { problemsOf } from './check.ts';

const { createDevices, updateDevices } = cloudOperations;
const item = { external_device_id: 'cam-1', device_type: 'camera', zone_number: '1' };

describe.each([
  ['a bulk creation', createDevices],
  ['a bulk update', updateDevices],
])('%s', (_, operation) => {
  const { schema } = operation.body;

  it('takes any items, however wrong, because each fails alone (S-122, S-125)', () => {
    const items = [item, 7, null, 'x', [], { device_type: 'panel' }];
    expect(schema.parse(items)).toEqual(items);
  });

  it('takes 500 items', () => {
    expect(
      problemsOf(
        schema,
        Array.from({ length: 500 }, () => item),
      ),
    ).toEqual([]);
  });

  it.each([
    ['an object', item, 'body: must be an array of items'],
    ['null', null, 'body: must be an array of items'],
    ['an empty array', [], 'body: must hold at least one item'],
    ['501 items', Array.from({ length: 501 }, () => item), 'body: must hold at most 500 items'],
  ])('refuses %s as a whole (S-124)', (...[, body, problem]) => {
    expect(problemsOf(schema, body)).toEqual([problem]);
  });
});

describe('an item', () => {
  it('that fits comes out without what nobody knows', () => {
    expect(checkItem(deviceCreate, { ...item, colour: 'red' })).toEqual({ value: item });
  });

  it.each([
    [deviceCreate, { ...item, zone_number: 1 }, 'zone_number: must be a string'],
    [deviceCreate, { ...item, device_type: 'nvr' }, 'device_type: must be one of camera, bridge'],
    [deviceUpdate, {}, 'device_id: is required'],
    [deviceCreate, null, 'item: must be an object'],
  ])('that does not fit says which field and why (S-125): %#', (schema, value, problem) => {
    expect(checkItem(schema, value)).toEqual({ problem });
  });

  it('is the schema that the call names for documents', () => {
    expect(createDevices.body.items).toBe(deviceCreate);
    expect(updateDevices.body.items).toBe(deviceUpdate);
  });
});
