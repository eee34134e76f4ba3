"""The numbers of COCO's 80 classes, which have gaps."""

from __future__ import annotations

_NAMES = {
    1: "person bicycle car motorcycle airplane bus train truck boat traffic_light fire_hydrant",
    13: "stop_sign parking_meter bench bird cat dog horse sheep cow elephant bear zebra giraffe",
    27: "backpack umbrella",
    31: "handbag tie suitcase frisbee skis snowboard sports_ball kite baseball_bat baseball_glove",
    41: "skateboard surfboard tennis_racket bottle",
    46: "wine_glass cup fork knife spoon bowl banana apple sandwich orange broccoli carrot hot_dog",
    59: "pizza donut cake chair couch potted_plant bed",
    67: "dining_table",
    70: "toilet",
    72: "tv laptop mouse remote keyboard cell_phone microwave oven toaster sink refrigerator",
    84: "book clock vase scissors teddy_bear hair_drier toothbrush",
}
COCO_IDS = {
    name.replace("_", " "): first + place
    for first, names in _NAMES.items()
    for place, name in enumerate(names.split())
}
