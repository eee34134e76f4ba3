"""One way of reading samples a file: a folder of images, TFRecords, COCO, MNIST …

``READERS`` says where each is; a reader is imported when it is used.
"""

READERS: dict[str, str] = {
    name: f"modeldyno.datasets.readers.{place}"
    for name, place in {
        "dummy": "dummy:Dummy",
        "dummy_v2": "dummy:DummyV2",
        "ImageFolder": "image_folder:ImageFolder",
        "ImagenetRaw": "image_list:ImagenetRaw",
        "ImageRecord": "image_records:ImageRecord",
        "TFRecordDataset": "tfrecords:TFRecordDataset",
        "COCORecord": "image_records:COCORecord",
        "VOCRecord": "image_records:VOCRecord",
        "COCORaw": "coco:COCORaw",
        "COCONpy": "coco:COCONpy",
        "MNIST": "mnist:MNIST",
        "FashionMNIST": "mnist:FashionMNIST",
        "CIFAR10": "cifar:CIFAR10",
        "CIFAR100": "cifar:CIFAR100",
        "GLUE": "glue:GLUE",
        "bert": "squad:Bert",
        "style_transfer": "style_transfer:StyleTransfer",
        # ours
        "npz": "arrays:Arrays",
        "csv": "csv_file:CsvFile",
        "jsonl": "json_lines:JsonLines",
        "parquet": "parquet:Parquet",
        "labelled_images": "labelled_images:LabelledImages",
        "digits": "digits:Digits",
    }.items()
}

# Parameters that name a file or folder: a sandbox must let their reader see it.
PATHS = frozenset(
    (
        *("root", "data_path", "image_list", "data_dir", "model_name_or_path"),
        *("label_file", "content_path", "style_path"),
    )
)
