import numpy as np
import pytest

import stillpoint as sp
from stillpoint.domains import Ball, Box, HalfSpace, Projection, Simplex
from stillpoint.kernels import OU, SpectralDensity
from stillpoint.potentials import Erfi, ParameterFree
from test_kernels import DENSE, MARKOV


@pytest.mark.parametrize("name", [*MARKOV, *DENSE])
def test_every_kernel_survives_saving(name, tmp_path):
    kernel = {**MARKOV, **DENSE}[name]
    learner = sp.KernelFTRL(2, kernel=kernel, potential=Erfi(0.5))
    gradients = np.random.default_rng(0).standard_normal((20, 2))
    for g in gradients[:10]:
        learner.update(g)
    sp.save(learner, tmp_path / "a")
    loaded = sp.load(tmp_path / "a")
    assert loaded.config == learner.config
    for g in gradients[10:]:
        assert np.array_equal(learner.predict(), loaded.predict())
        learner.update(g)
        loaded.update(g)


@pytest.mark.parametrize(
    "domain", [Ball(1.0, center=(0.5, 0.0)), Box(-1.0, (1.0, float("inf"))), Simplex(), HalfSpace((1, 0), 1)], ids=repr
)
def test_every_domain_survives_saving(domain, tmp_path):
    sp.save(sp.KernelFTRL(2, domain=domain, potential=ParameterFree(2.0), lipschitz=3.0), tmp_path / "a")
    assert sp.load(tmp_path / "a").domain == domain


def test_a_failed_save_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "learner"
    sp.save(sp.KernelFTRL(1, kernel=OU(0.1)), path)
    before = path.read_bytes()

    def full(*args, **kwargs):
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="no space"):
        sp.save(sp.KernelFTRL(3, kernel=OU(0.1)), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_foreign_broken_and_newer_files_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "learner"
    path.write_bytes(b"not a learner")
    with pytest.raises(ValueError, match=r"sp\.save wrote"):
        sp.load(path)
    sp.save(sp.KernelFTRL(1, kernel=OU(0.1)), path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ValueError, match=r"sp\.save wrote"):
        sp.load(path)
    np.savez(path.with_suffix(".npz"), something=np.zeros(3))
    with pytest.raises(ValueError, match=r"sp\.save wrote"):
        sp.load(path.with_suffix(".npz"))
    monkeypatch.setattr("stillpoint.persist.FORMAT", 2)
    sp.save(sp.KernelFTRL(1, kernel=OU(0.1)), path)
    monkeypatch.undo()
    with pytest.raises(ValueError, match="format 2"):
        sp.load(path)


def test_code_is_never_saved(tmp_path):
    for options in ({"domain": Projection(lambda w: w)}, {"kernel": SpectralDensity(lambda w: np.exp(-w))}):
        with pytest.raises(ValueError, match="cannot be saved"):
            sp.save(sp.KernelFTRL(1, **options), tmp_path / "a")
    assert not list(tmp_path.iterdir())
