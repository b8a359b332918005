import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createNormaliser } from '#devices/onvif/normalise.ts';
import { readNotifications } from '#devices/onvif/notification.ts';
import { parseXml } from '#lib/xml.ts';
import { world } from '../../site/core/world.ts';
import { notification, soap } from './scripted-camera.ts';

/** What a camera can show: several topics of one class, objects in a field, a cover. */
const things = {
  alarm: { topic: 'tns1:VideoSource/MotionAlarm', item: 'State', key: undefined },
  cells: { topic: 'tns1:RuleEngine/CellMotionDetector/Motion', item: 'IsMotion', key: undefined },
  one: { topic: 'tns1:RuleEngine/FieldDetector/ObjectsInside', item: 'IsInside', key: { ObjectId: '1' } },
  two: { topic: 'tns1:RuleEngine/FieldDetector/ObjectsInside', item: 'IsInside', key: { ObjectId: '2' } },
  cover: { topic: 'tns1:RuleEngine/TamperDetector/Tamper', item: 'IsTamper', key: undefined },
} as const;
type Name = keyof typeof things;
const names = Object.keys(things) as Name[];

type Changes = readonly { readonly name: Name; readonly on: boolean }[];

type Step =
  | { readonly what: 'is'; readonly name: Name; readonly on: boolean; readonly times: number }
  | { readonly what: 'pass'; readonly ms: number }
  /** The pull point is lost, with what happens meanwhile; repaired before anybody is told, or not. */
  | { readonly what: 'lost'; readonly told: boolean; readonly meanwhile: Changes }
  /** The daemon's cameras are made anew, and nobody is told that the link was gone. */
  | { readonly what: 'reload'; readonly meanwhile: Changes };

const change = fc.record({ name: fc.constantFrom(...names), on: fc.boolean() });
const meanwhile = fc.array(change, { maxLength: 4 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: change.chain((one) =>
      fc.integer({ min: 1, max: 3 }).map((times) => ({ what: 'is' as const, ...one, times })),
    ),
  },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('pass' as const), ms: fc.nat(20_000) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constant('lost' as const),
      told: fc.boolean(),
      meanwhile,
    }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('reload' as const), meanwhile }) },
);

/** A camera, what siteward makes of its messages, and a site whose zone it watches. */
function rig() {
  const hall = { kind: 'camera', id: 'hall' } as const;
  const site = world();
  const normaliser = () => createNormaliser({ sourceOf: () => hall, wall: () => 0 });
  let made = normaliser();
  const truth = new Map<Name, boolean>(names.map((name) => [name, false]));
  let now = 1_000_000;

  function say(name: Name, operation: string) {
    const { topic, item, key } = things[name];
    const data = { [item]: String(truth.get(name)) };
    const text = soap(notification({ topic, operation, data, ...(key !== undefined && { key }) }));
    for (const signal of made.take(readNotifications(parseXml(text)), now).signals) site.signal(signal);
    for (const signal of made.expire(now)) site.signal(signal);
  }
  const link = (up: boolean) => site.signal({ kind: 'link', source: hall, layer: 'device', up });
  function subscribe() {
    made.subscribed(now);
    for (const name of names) say(name, 'Initialized');
  }
  link(true);
  subscribe();
  return {
    site,
    seen: () => names.some((name) => name !== 'cover' && truth.get(name) === true),
    covered: () => truth.get('cover') === true,
    apply(step: Step) {
      now += 1000;
      if (step.what === 'pass') now += step.ms;
      else if (step.what === 'is') {
        if (truth.get(step.name) === step.on) return;
        truth.set(step.name, step.on);
        for (let n = 0; n < step.times; n += 1) say(step.name, 'Changed');
      } else if (step.what === 'reload') {
        made = normaliser();
        for (const { name, on } of step.meanwhile) truth.set(name, on);
        site.signal({ kind: 'link', source: hall, layer: 'device', up: true, anew: true });
        subscribe();
      } else {
        if (step.told) {
          made.reset();
          link(false);
        }
        for (const { name, on } of step.meanwhile) truth.set(name, on);
        now += 3000;
        if (step.told) link(true);
        subscribe();
      }
    },
  };
}

it('after any changes, repeats and losses the site knows what the camera shows', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const one = rig();
      for (const each of steps) {
        one.apply(each);
        expect(one.site.state.zones['21']?.open).toBe(one.seen());
        expect('camera_tamper|camera:hall|' in one.site.state.troubles).toBe(one.covered());
      }
    }),
    { numRuns: 300 },
  );
});

it('whatever was before, somebody who comes is an alarm of an armed site', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const one = rig();
      for (const each of steps) one.apply(each);
      for (const name of names) one.apply({ what: 'is', name, on: false, times: 1 });
      one.site.arm({ code: 'ok', actor: 'ann' });
      one.site.pass(60_000);
      one.apply({ what: 'is', name: 'one', on: true, times: 1 });
      expect(one.site.kinds()).toContain('alarm:burglary_interior:active');
    }),
    { numRuns: 100 },
  );
});

const gaps = [{ what: 'reload' }, { what: 'lost', told: true }, { what: 'lost', told: false }] as const;

it('whatever was before, somebody who comes during a reload or an interruption is an alarm of an armed site', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), fc.constantFrom(...gaps), (steps, gap) => {
      const one = rig();
      for (const each of steps) one.apply(each);
      for (const name of names) one.apply({ what: 'is', name, on: false, times: 1 });
      one.site.arm({ code: 'ok', actor: 'ann' });
      one.site.pass(60_000);
      one.site.log.length = 0;
      one.apply({ ...gap, meanwhile: [{ name: 'one', on: true }] });
      expect(one.site.kinds(one.site.log)).toContain('alarm:burglary_interior:active');
    }),
    { numRuns: 100 },
  );
});
