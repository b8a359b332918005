import { describe, expect, it } from 'vitest';
import { C, cell, D, field, I, line, my, none, platform, say, signalsOf } from './vendor-messages.ts';

describe('what every vendor may write', () => {
  const dangers: readonly (readonly [topic: string, item: string, detection: string])[] = [
    [`${cell}/Motion`, 'IsMotion', 'motion'],
    [field, 'IsInside', 'intrusion'],
    [`${my}/PeopleDetect`, 'State', 'person'],
    ['tns1:RuleEngine/TamperDetector/Tamper', 'IsTamper', 'tamper'],
    ['tns1:VideoSource/SignalLoss', 'State', 'video_loss'],
    [`${cell}/LineCross`, 'IsLineCross', 'line'],
    [`${platform}/FenceGuard/Camera1Profile1`, 'active', 'line'],
    ['tns1:IVA/ObjectInField/R', 'State', 'intrusion'],
  ];
  const words = ['true True 1 active Active on ON high'.split(' '), 'false 0 inactive off OFF low'.split(' ')] as const;

  it.each(dangers)('%s: the words for on and off, in every operation', (topic, item, detection) => {
    for (const [at, on] of words[0].entries()) {
      const off = words[1][at % words[1].length] ?? '';
      for (const operation of [C, undefined] as const) {
        const told = signalsOf([
          say([topic, none, { [item]: on }, operation]),
          say([topic, none, { [item]: off }, operation]),
        ]);
        expect(told).toEqual([`${detection}+`, `${detection}-`]);
      }
    }
    const begins = signalsOf([say([topic, none, { [item]: 'false' }, I]), say([topic, none, { [item]: 'true' }, C])]);
    expect(begins).toEqual([`${detection}-~`, `${detection}+`]);
    expect(signalsOf([say([topic, none, { [item]: 'true' }, I])])).toEqual([`${detection}+~`]);
    const gone = signalsOf([say([topic, none, { [item]: 'true' }, C]), say([topic, none, { [item]: 'true' }, D])]);
    expect(gone).toEqual([`${detection}+`, `${detection}-`]);
  });

  it.each([line, 'tns1:RuleEngine/LoiteringDetector/ObjectIsLoitering', 'tns1:RuleEngine/X/ObjectAbandoned'])(
    '%s: an event for each message; of a state it tells after all, on and off',
    (topic) => {
      const numbers = ['0', '1', '0'].map((id) => say([topic, none, { ObjectId: id }, C]));
      expect(signalsOf(numbers).every((signal) => signal.endsWith('!'))).toBe(true);
      expect(signalsOf(numbers)).toHaveLength(3);
      const states = ['true', 'false'].map((value) => say([topic, none, { ObjectId: '1', State: value }, C]));
      expect(signalsOf(states).map((signal) => signal.at(-1))).toEqual(['+', '-']);
    },
  );

  it('an intrusion without a word of its state is one all the same', () => {
    expect(signalsOf([say([field, none, { ObjectId: 'a' }, C])])).toEqual(['intrusion!']);
    expect(signalsOf([say([field, none, { ObjectId: 'a' }, I])])).toEqual([]);
  });

  it('a vendor is known by its namespace, also where it is declared anew', () => {
    const text = say(['q:Device/x:IO/Port', { port: '1' }, { state: '1' }, C]).replace(
      '<wsnt:Topic ',
      '<wsnt:Topic xmlns:q="http://www.onvif.org/ver10/topics" xmlns:x="http://www.axis.com/2009/event/topics" xmlns="http://www.axis.com/2009/event/topics" ',
    );
    expect(signalsOf([text])).toEqual(['input(1)+']);
  });

  it('a class told inside an element counts', () => {
    const element =
      '<tt:Data><tt:ElementItem Name="Object"><tt:Type Likelihood="0.9">Vehicle</tt:Type></tt:ElementItem></tt:Data>';
    const text = say(['tns1:RuleEngine/tnsajax:ObjectDetector/Detection', none, none]).replace(
      '<tt:Data></tt:Data>',
      element,
    );
    expect(signalsOf([text])).toEqual(['intrusion!', 'vehicle!']);
  });
});
