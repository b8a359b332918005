import { describe, expect, it } from 'vitest';
import {
  C,
  cell,
  D,
  field,
  hik,
  I,
  line,
  my,
  none,
  type Row,
  reolink,
  say,
  signalsOf,
  smart,
  state,
  tapo,
} from './vendor-messages.ts';

const vendors: Readonly<Record<string, readonly Row[]>> = {
  Reolink: [
    ['people', [[`${my}/PeopleDetect`, reolink, state('true'), C]], ['person+']],
    ['vehicles', [[`${my}/VehicleDetect`, reolink, state('true'), C]], ['vehicle+']],
    ['animals', [[`${my}/DogCatDetect`, reolink, state('true'), C]], ['animal+']],
    ['faces', [[`${my}/FaceDetect`, reolink, state('true'), C]], ['face+']],
    ['packages', [[`${my}/Package`, reolink, state('true'), I]], ['package+~']],
    [
      'the bell, and its end',
      [
        [`${my}/Visitor`, reolink, state('true'), C],
        [`${my}/Visitor`, reolink, state('false'), C],
      ],
      ['doorbell+', 'doorbell-'],
    ],
    [
      'all as false at the start, then one that is deleted',
      [
        [`${my}/PeopleDetect`, reolink, state('false'), I],
        [`${my}/PeopleDetect`, reolink, state('true'), C],
        [`${my}/PeopleDetect`, reolink, state('true'), D],
      ],
      ['person-~', 'person+', 'person-'],
    ],
  ],
  'TP-Link Tapo and VIGI': [
    ['motion', [[`${cell}/Motion`, tapo, { IsMotion: 'true' }, C]], ['motion+']],
    ['people', [[`${cell}/People`, tapo, { IsPeople: 'true' }, C]], ['person+']],
    ['people of the other topic', [['tns1:RuleEngine/PeopleDetector/People', tapo, { IsPeople: 'true' }]], ['person+']],
    ['intrusion', [[`${cell}/Intrusion`, tapo, { IsIntrusion: 'true' }, C]], ['intrusion+']],
    ['a line', [[`${cell}/LineCross`, tapo, { IsLineCross: 'true' }, C]], ['line+']],
    [
      'a line of the other topic',
      [['tns1:RuleEngine/LineCrossDetector/LineCross', tapo, { IsLineCross: 'true' }]],
      ['line+'],
    ],
    ['tamper', [[`${cell}/Tamper`, tapo, { IsTamper: 'true' }, C]], ['tamper+']],
    ['each class by its data name', [[smart, tapo, { IsVehicle: 'true' }, C]], ['vehicle+']],
    [
      'several in one message',
      [[`${cell}/TpSmartEvent`, tapo, { IsPet: 'true', IsPeople: 'true' }]],
      ['person+', 'animal+'],
    ],
    [
      'one class ends, the other lasts',
      [
        [smart, tapo, { IsVehicle: 'true' }, C],
        [smart, tapo, { IsTamper: 'true' }, C],
        [smart, tapo, { IsVehicle: 'false' }, C],
      ],
      ['vehicle+', 'tamper+', 'vehicle-'],
    ],
    [
      'all of a topic that is deleted',
      [
        [smart, tapo, { IsVehicle: 'true', IsLineCross: 'true' }, C],
        [smart, tapo, none, D],
      ],
      ['vehicle+', 'line+', 'vehicle-', 'line-'],
    ],
  ],
  'Hikvision and look-alikes': [
    [
      'contact inputs',
      [['tns1:Device/Trigger/tnshik:AlarmIn', { AlarmInToken: 'AlarmIn_1' }, state('true'), I]],
      ['input(AlarmIn_1)+~'],
    ],
    [
      'the same of an OEM',
      [['tns1:Device/Trigger/tnsn:AlarmIn', { AlarmInToken: '1' }, state('true'), C]],
      ['input(1)+'],
    ],
    [
      'AcuSense, a human',
      [[field, { ...hik, Rule: 'Human' }, { IsInside: 'true' }, C, { ObjectId: '1' }]],
      ['intrusion(Human)+', 'person(Human)+'],
    ],
    [
      'AcuSense, a vehicle',
      [[field, { ...hik, Rule: 'Vehicle' }, { IsInside: 'true' }, C]],
      ['intrusion(Vehicle)+', 'vehicle(Vehicle)+'],
    ],
    ['a crossed line, which never ends', [[line, { ...hik, Rule: 'L' }, { ObjectId: '1' }, C]], ['line(L)!']],
    [
      'a lost picture',
      [['tns1:VideoSource/SignalLoss', { Source: 'VideoSource_1' }, state('true'), C]],
      ['video_loss+'],
    ],
    [
      'a picture of the wrong kind',
      [['tns1:VideoSource/tnshik:SignalStandardMismatch', { VideoSourceToken: '1' }, state('true'), C]],
      ['video_loss+'],
    ],
    [
      'a full disk',
      [['tns1:Device/HardwareFailure/tnshik:HardDiskFull', { HardDiskNo: '1' }, none]],
      ['storage_fault(1)!'],
    ],
    [
      'a broken disk',
      [['tns1:Device/HardwareFailure/tnshik:HardDiskError', { HardDiskNo: '1' }, none]],
      ['storage_fault(1)!'],
    ],
    [
      'a disk without format',
      [['tns1:Device/HardwareFailure/tnshik:HardDiskUnformat', { HardDiskNo: '2' }, none]],
      ['storage_fault(2)!'],
    ],
    ['a broken line', [['tns1:Device/tnshik:Network/tnshik:EthernetBroken', none, none]], ['network_fault!']],
    ['two of one address', [['tns1:Device/tnsn:Network/IPAddrConflict', none, none]], ['network_fault!']],
    ['wrong passwords', [['tns1:UserAlarm/tnshik:IllegalAccess', none, none]], ['access!']],
    [
      'the noise of a new subscription',
      [
        ['tns1:Monitoring/OperatingTime/LastReset', none, { Status: '1970-01-01T00:00:00Z' }, I],
        ['tns1:Monitoring/OperatingTime/LastClockSynchronization', none, { Status: '1970-01-01T00:00:00Z' }, I],
        ['tns1:Monitoring/ProcessorUsage', { Token: '000' }, { Value: '0.29' }, I],
        ['tns1:MediaControl/VideoEncoderConfiguration', { VideoEncoderConfigurationToken: '1' }, none, C],
      ],
      [],
    ],
    [
      'one motion of two topics, whichever ends first',
      [
        [`${cell}/Motion`, { ...hik, Rule: '000' }, { IsMotion: 'true' }, C],
        ['tns1:VideoSource/MotionAlarm', { Source: '000' }, state('true'), C],
        [`${cell}/Motion`, { ...hik, Rule: '000' }, { IsMotion: 'false' }, C],
        ['tns1:VideoSource/MotionAlarm', { Source: '000' }, state('false'), C],
      ],
      ['motion(000)+', 'motion-'],
    ],
  ],
  'Dahua, Amcrest, Lorex, Imou': [
    ['nothing of an empty message', [['', none, none]], []],
    ['motion', [['tns1:VideoSource/MotionAlarm', { Source: 'VideoSourceMain' }, state('true'), C]], ['motion+']],
    [
      'people',
      [['tns1:UserAlarm/IVA/HumanShapeDetect', { VideoSourceConfigurationToken: 'VideoSourceMain' }, state('true'), C]],
      ['person+'],
    ],
    [
      'the nested input of Imou',
      [['tns1:VideoSource/tns1:Device/Trigger/DigitalInput', { InputToken: '0' }, { LogicalState: 'true' }, C]],
      ['input(0)+'],
    ],
    ['tamper', [['tns1:RuleEngine/TamperDetector/Tamper', none, { IsTamper: 'true' }, C]], ['tamper+']],
    [
      'objects in a field, by number',
      [
        [field, { Rule: 'F' }, { IsInside: 'true' }, C, { ObjectId: '1' }],
        [field, { Rule: 'F' }, { IsInside: 'true' }, C, { ObjectId: '2' }],
        [field, { Rule: 'F' }, { IsInside: 'false' }, C, { ObjectId: '1' }],
        [field, { Rule: 'F' }, { IsInside: 'true' }, D, { ObjectId: '2' }],
      ],
      ['intrusion(F)+', 'intrusion(F)-'],
    ],
  ],
};

describe.each(Object.entries(vendors))('%s', (_, rows) => {
  it.each(rows)('%s', (_what, messages, signals) => {
    expect(signalsOf(messages.map(say))).toEqual(signals);
  });
});
