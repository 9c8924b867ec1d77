"""Traces: columns become gangs, and without the files the jobs are made up and say so."""

from pathlib import Path

from bench import traces

PHILLY = """timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:01:55,66.0,1,66.0,11cb48
2017-10-09 06:01:55,2951.0,12,2951.0,6214e9
"""
DLRM = """instance_sn,role,app_name,cpu_request,gpu_request,memory_request,creation_time,deletion_time
i0,HN,app_0,12,1,120.0,475.0,600.0
i1,HN,app_0,12,1,120.0,500.0,900.0
i2,CN,app_0,48,0,240.0,,700.0
"""


def test_a_job_of_n_gpus_is_a_gang_of_whole_nodes_and_jobs_come_in_the_order_of_time(tmp_path: Path):
    (tmp_path / "philly_jobs.csv").write_text(PHILLY)
    trace = traces.training(tmp_path)
    assert [(job.submitted_s, job.pods, job.gpus) for job in trace.jobs] == [(0.0, 2, 16), (3600.0, 1, 1)]
    assert trace.source == "philly_jobs.csv"


def test_an_application_is_a_group_with_a_gang_for_each_size_of_pods(tmp_path: Path):
    (tmp_path / "alibaba_dlrm_2025.csv").write_text(DLRM)
    (job,) = traces.serving(tmp_path).jobs
    assert [(role.name, role.pods, role.gpus, role.cpu_m) for role in job.roles] == [
        ("cn-1", 1, 0, 48_000),
        ("hn-2", 2, 1, 12_000),
    ]
    assert (job.submitted_s, job.duration_s) == (0.0, 900.0)


def test_without_files_jobs_of_the_same_shape_are_made_up_the_same_each_time_and_say_so(tmp_path: Path):
    trace = traces.training(tmp_path)
    assert trace == traces.training(tmp_path)
    assert "made up" in trace.source
    assert 0.002 < sum(job.pods > 1 for job in trace.jobs) / len(trace.jobs) < 0.006
    assert all(len(job.roles) == 2 for job in traces.serving(tmp_path).jobs)
