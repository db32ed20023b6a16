"""Checkpoints of the other command, or of other options: what the refusal says."""

from stillpoint.commands import fleet, track

ROWS = "t,k,y\n" + "".join(f"{t},{k},{t}\n" for t in range(30) for k in "ab")


def test_a_checkpoint_of_the_other_command_is_told_as_such(tmp_path, capsys):
    source, told = tmp_path / "d.csv", {"time": "t", "quiet": True}
    source.write_text(ROWS)
    own, others = tmp_path / "track", tmp_path / "fleet"
    assert track(str(source), "y", tmp_path / "o", checkpoint=own, **told) == 0
    assert fleet(str(source), "k", "y", tmp_path / "f", checkpoint=others, **told) == 0
    capsys.readouterr()
    message = "--checkpoint must be one of stillpoint {}: got one of stillpoint {}; give another"
    assert track(str(source), "y", tmp_path / "o", checkpoint=others, **told) == 2
    assert message.format("track", "fleet") in capsys.readouterr().err
    assert fleet(str(source), "k", "y", tmp_path / "f", checkpoint=own, **told) == 2
    assert message.format("fleet", "track") in capsys.readouterr().err


def test_what_a_checkpoint_was_begun_without_is_told_in_words(tmp_path, capsys):
    source, told = tmp_path / "d.csv", {"features": "", "checkpoint": tmp_path / "c"}
    source.write_text(ROWS)
    assert track(str(source), "y", tmp_path / "o", **told) == 0
    for option, what in (
        (
            {"horizon": 14},
            "--horizon must be that of the checkpoint: got 14, begun with the default",
        ),
        ({"time": "t"}, "--time must be that of the checkpoint: got t, begun with none"),
    ):
        assert track(str(source), "y", tmp_path / "o", **told, **option) == 2
        assert f"{what}; give another --checkpoint folder" in capsys.readouterr().err
