import { describe, expect, it } from 'vitest';
import { C, cell, field, hik, line, none, platform, type Row, say, signalsOf, state } from './vendor-messages.ts';

const vendors: Readonly<Record<string, readonly Row[]>> = {
  Axis: [
    [
      'one motion of a profile and of "any"',
      [
        [`${platform}/VMD/Camera1ProfileANY`, none, { active: '1' }, C],
        [`${platform}/VMD/Camera1Profile1`, none, { active: '1' }, C],
        [`${platform}/VMD/Camera1Profile1`, none, { active: '0' }, C],
        [`${platform}/VMD/Camera1ProfileANY`, none, { active: '0' }, C],
      ],
      ['motion+', 'motion-'],
    ],
    ['motion guard', [[`${platform}/MotionGuard/Camera1Profile1`, none, { active: '1' }, C]], ['motion+']],
    ['fence guard', [[`${platform}/FenceGuard/Camera1Profile1`, none, { active: '1' }, C]], ['line+']],
    ['loitering guard', [[`${platform}/LoiteringGuard/Camera1Profile1`, none, { active: '1' }, C]], ['loitering+']],
    [
      'object analytics, whatever the order of the items',
      [
        [`${platform}/ObjectAnalytics/Device1Scenario1`, none, { classTypes: 'human', active: '1', objectId: '1' }, C],
        [`${platform}/ObjectAnalytics/Device1Scenario1`, none, { active: '0', objectId: '1', classTypes: '' }, C],
      ],
      ['intrusion+', 'person+', 'intrusion-', 'person-'],
    ],
    ['nothing of its inner data', [[`${platform}/ObjectAnalytics/xInternalData`, none, { svgframe: '1' }, C]], []],
    ['VMD 3', [['tns1:RuleEngine/tnsaxis:VMD3/vmd3_video_1', { areaid: '0' }, { active: '1' }, C]], ['motion+']],
    [
      'a region',
      [['tns1:RuleEngine/MotionRegionDetector/Motion', { VideoSource: '0', RuleName: 'P' }, state('1'), C]],
      ['motion(P)+'],
    ],
    [
      'ports by number, and nothing of "any"',
      [
        ['tns1:Device/tnsaxis:IO/Port', { port: '-1' }, { state: '1' }, C],
        ['tns1:Device/tnsaxis:IO/Port', { port: '1' }, { state: '1' }, C],
        ['tns1:Device/tnsaxis:IO/VirtualInput', { port: '1' }, { active: '1' }, C],
        ['tns1:Device/tnsaxis:IO/Port', { port: '1' }, { state: '0' }, C],
      ],
      ['input(1)+', 'input(1)+', 'input(1)-'],
    ],
    [
      'a supervised port that is cut',
      [['tns1:Device/tnsaxis:IO/SupervisedPort', { port: '2' }, { state: 'cut', tampered: '1' }, C]],
      ['tamper(2)+'],
    ],
    ['an output', [['tns1:Device/tnsaxis:IO/OutputPort', { port: '2' }, { state: '1' }, C]], ['relay(2)+']],
    ['a relay', [['tns1:Device/Trigger/Relay', { RelayToken: '3' }, { LogicalState: 'active' }, C]], ['relay(3)+']],
    ['a motion detector', [['tns1:Device/tnsaxis:Sensor/PIR', { sensor: '0' }, state('x'), C]], []],
    [
      'a motion detector that sees',
      [['tns1:Device/tnsaxis:Sensor/PIR', { sensor: '0' }, { state: '1' }, C]],
      ['input(0)+'],
    ],
    ['sound', [['tns1:AudioSource/tnsaxis:TriggerLevel', { channel: '1' }, { triggered: '1' }, C]], ['sound+']],
    [
      'tampering, which never ends',
      [['tns1:VideoSource/tnsaxis:Tampering', { channel: '1' }, { tampering: '1' }, C]],
      ['tamper!'],
    ],
    ['shock', [['tns1:Device/tnsaxis:Tampering/ShockDetected', { channel: '1' }, none, C]], ['tamper!']],
    ['an open casing', [['tns1:Device/tnsaxis:Casing/Open', { Name: 'Lid' }, { Open: '1' }, C]], ['tamper+']],
    [
      'a moved camera',
      [['tns1:VideoSource/GlobalSceneChange/ImagingService', { Source: '0' }, state('1'), C]],
      ['tamper+'],
    ],
    [
      'a lost network',
      [['tns1:Device/tnsaxis:Network/Lost', { interface: 'eth0' }, { lost: '1' }, C]],
      ['network_fault(eth0)+'],
    ],
    [
      'somebody it has shut out',
      [['tns1:Device/tnsaxis:Network/BlockedIP', none, { address: '192.0.2.9' }, C]],
      ['access!'],
    ],
    ['heat', [['tns1:Device/tnsaxis:Status/Temperature/Above', none, { sensor_level: '1' }, C]], ['hardware_fault+']],
    [
      'nothing of day, light, heads and readiness',
      [
        ['tns1:VideoSource/tnsaxis:DayNightVision', none, { day: '1' }, C],
        ['tns1:Device/tnsaxis:Light/Status', { id: '0' }, { state: 'ON' }, C],
        ['tns1:LightControl/tnsaxis:LightStatusChanged/Status', none, { state: 'ON' }, C],
        ['tns1:PTZController/tnsaxis:Move/Channel_1', none, { is_moving: '1' }, C],
        ['tns1:Device/tnsaxis:Status/SystemReady', none, { ready: '1' }, C],
        ['tns1:Device/tnsaxis:Network/AddressAdded', none, { address: 'x' }, C],
      ],
      [],
    ],
    [
      'a disk',
      [['tnsaxis:Storage/Alert', { disk_id: 'SD' }, { overall_health: '-3', alert: '1', wear: '1' }, C]],
      ['storage_fault(SD)+'],
    ],
    [
      'a disk that is gone',
      [['tnsaxis:Storage/Disruption', { disk_id: 'SD' }, { disruption: '1' }, C]],
      ['storage_fault(SD)+'],
    ],
    [
      'a failed disk of the core topic',
      [['tns1:Device/HardwareFailure/StorageFailure', { disk_id: 'SD' }, { disruption: '1' }, C]],
      ['storage_fault(SD)+'],
    ],
    [
      'the supply of its head',
      [['tns1:Device/HardwareFailure/PowerSupplyFailure/tnsaxis:PTZPowerFailure', { Token: '1' }, { Failed: '1' }, C]],
      ['hardware_fault(1)+'],
    ],
  ],
  Bosch: [
    [
      'a rule by its place, not its name',
      [['tns1:IVA/ObjectInField/Detect_any_object', { VideoSource: '1' }, state('true'), C]],
      ['intrusion+'],
    ],
    ['a rule that only happens', [['tns1:IVA/CrossingLine/Fence', { VideoSource: '1' }, none, C]], ['intrusion!']],
    ['a field', [[field, { VideoSource: '1', RuleName: 'R' }, state('true'), C]], ['intrusion(R)+']],
    [
      'a moved camera',
      [['tns1:VideoSource/GlobalSceneChange/AnalyticsService', { Source: '1' }, state('true'), C]],
      ['tamper+'],
    ],
    [
      'a lost picture',
      [['tns1:VideoSource/SignalLoss/AnalyticsService', { Source: '1' }, state('true'), C]],
      ['video_loss+'],
    ],
    [
      'a bright picture',
      [['tns1:VideoSource/ImageTooBright/AnalyticsService', { Source: '1' }, state('true'), C]],
      ['image_quality+'],
    ],
    [
      'nothing of counts and keys',
      [
        ['tns1:RuleEngine/CountAggregation/Counter', none, { Count: '1' }, C],
        ['tns1:Advancesecurity/Keystore/KeyStatus', none, none, C],
        ['tns1:Advancedsecurity/Keystore/KeyStatus', none, none, C],
      ],
      [],
    ],
  ],
  Pelco: [
    ['motion without a source, with a capital', [[`\n  ${cell}/Motion\n`, none, { Value: 'True' }, C]], ['motion+']],
    [
      'sabotage',
      [['tns1:RuleEngine/CameraSabotage/Triggered', { VideoAnalyticsConfiguration: '1' }, none, C]],
      ['tamper!'],
    ],
    ['what was left', [['tns1:RuleEngine/AbandonedObject/Triggered', none, none, C]], ['object_left!']],
    ['what was taken', [['tns1:RuleEngine/ObjectRemoval/Triggered', none, none, C]], ['object_removed!']],
    ['adaptive motion', [['tns1:RuleEngine/AdaptiveMotion/Triggered', none, none, C]], ['motion!']],
    ['a direction', [['tns1:RuleEngine/DirectionalMotion/Triggered', none, none, C]], ['line!']],
    ['loitering', [['tns1:RuleEngine/LoiteringDetection/Triggered', none, none, C]], ['loitering!']],
    ['a stopped vehicle', [['tns1:RuleEngine/StoppedVehicle/Triggered', none, none, C]], ['vehicle!']],
    [
      'recordings',
      [['tns1:RecordingHistory/Recording/State', { RecordingToken: '0' }, { IsRecording: 'true' }, C]],
      ['recording(0)+'],
    ],
    [
      'nothing of counts, tracks and heads',
      [
        ['tns1:RuleEngine/ObjectCounting/CountExceeded', none, none, C],
        ['tns1:RuleEngine/AutoTracker/Moved', none, none, C],
        ['tns1:RecordingHistory/Track/State', none, { IsDataPresent: 'true' }, C],
        ['tns1:RecordingConfig/TrackConfiguration', none, none, C],
      ],
      [],
    ],
  ],
  'Samsung and Hanwha': [
    ['motion', [['tns1:VideoAnalytics/tnssamsung:MotionDetection', { Window: '1' }, state('true'), C]], ['motion+']],
  ],
  Mobotix: [
    ['the bell', [['tns1:VideoSource/Alarm', none, { Word: 'Ring' }, C]], ['doorbell!']],
    ['the bell of a T26', [['tns1:VideoSource/Alarm', none, { Word: 'CameraBellButton' }, C]], ['doorbell!']],
    ['another alarm, which is no bell', [['tns1:VideoSource/Alarm', none, { Word: 'MotionWindow' }, C]], ['other!']],
  ],
  Ajax: [
    [
      'motion',
      [['tns1:RuleEngine/tnsajax:MotionDetector/Detection', { Rule: 'M' }, { Detected: 'true' }, C]],
      ['motion(M)+'],
    ],
    [
      'classes in view',
      [
        ['tns1:RuleEngine/ObjectDetection/Object', none, { ClassTypes: 'Human Vehicle' }],
        ['tns1:RuleEngine/ObjectDetection/Object', none, { ClassTypes: 'Vehicle' }],
        ['tns1:RuleEngine/ObjectDetection/Object', none, { ClassTypes: '' }],
      ],
      ['person+', 'vehicle+', 'person-', 'vehicle-'],
    ],
    ['a line', [['tns1:RuleEngine/tnsajax:LineDetector/Crossing', none, none]], ['line!']],
    [
      'an object',
      [['tns1:RuleEngine/tnsajax:ObjectDetector/Detection', none, { Class: 'Human' }]],
      ['intrusion!', 'person!'],
    ],
  ],
  'TVT, IESS, Provision': [
    [
      'numbers for words',
      [
        [
          'tns1:VideoSource/MotionAlarm',
          { VideoSourceConfigurationToken: '00200' },
          { ...state('1'), DetectWindow: '3' },
          C,
        ],
        [
          'tns1:VideoSource/MotionAlarm',
          { VideoSourceConfigurationToken: '00200' },
          { DetectWindow: '3', ...state('0') },
          C,
        ],
      ],
      ['motion+', 'motion-'],
    ],
  ],
  thingino: [
    [
      'motion by another name',
      [['tns1:VideoSource/MotionAlarm', { VideoSourceConfigurationToken: '0' }, { IsMotion: 'true' }, C]],
      ['motion+'],
    ],
    [
      'a fault without a name',
      [['tns1:Device/HardwareFailure', { Source: '0' }, state('true'), C]],
      ['hardware_fault+'],
    ],
    [
      'a relay',
      [['tns1:Device/Trigger/Relay', { RelayOutputToken: 'RelayOutputToken_1' }, { LogicalState: 'active' }, C]],
      ['relay(RelayOutputToken_1)+'],
    ],
  ],
  'Uniview, which keeps to the standard': [
    ['motion', [[`${cell}/Motion`, { ...hik, Rule: 'R' }, { IsMotion: 'true' }, C]], ['motion(R)+']],
    ['a field', [[field, { ...hik, Rule: 'R' }, { IsInside: 'true' }, C]], ['intrusion(R)+']],
    ['a line', [[line, { ...hik, Rule: 'R' }, { ObjectId: '3' }, C]], ['line(R)!']],
    [
      'tamper',
      [['tns1:RuleEngine/TamperDetector/Tamper', { ...hik, Rule: 'R' }, { IsTamper: 'true' }, C]],
      ['tamper(R)+'],
    ],
  ],
};

describe.each(Object.entries(vendors))('%s', (_, rows) => {
  it.each(rows)('%s', (_what, messages, signals) => {
    expect(signalsOf(messages.map(say))).toEqual(signals);
  });
});
