"""The records that every part of kernelguild uses, in one home."""

from .artifact import Artifact
from .base import CONTENT_ID_HEX_DIGITS, ContentId, Digest, Record, StoredRecord, canonical_json, content_id
from .candidate import MAX_SOURCE_CHARS, Candidate, Language
from .device import Device, DeviceKind
from .evaluation import (
    NOT_ABOUT_THE_CANDIDATE,
    CompileReport,
    Evaluation,
    Finding,
    Isolation,
    MeasuredTiming,
    OutputError,
    ShapeResult,
    ShapeTiming,
    Status,
    Tier,
    Timing,
    UnavailableTiming,
    Verdict,
    evaluation_key,
)
from .event import (
    BestConfirmed,
    BestRefuted,
    Event,
    EventBody,
    LeaseClosed,
    LeaseOpened,
    ProposalsSubmitted,
    RoundAborted,
    RoundJudged,
    RoundStarted,
    SearchEnded,
    SearchResumed,
    SearchStarted,
)
from .job import Job, JobStatus, ProcessIdentity
from .launch_plan import KernelResources, LaunchPlan, LaunchStep, ScratchBuffer, TensorMap
from .profiling import (
    Bottleneck,
    CpuProfile,
    InstructionMix,
    KernelProfile,
    LaunchFigures,
    MemoryFigures,
    Metric,
    ProfileTotals,
    ProfilingReport,
    Roofline,
    Stall,
    UnavailableProfile,
    WarpFigures,
)
from .search import (
    AgentSlots,
    Edge,
    Lease,
    LeaseStatus,
    Node,
    Proposal,
    PuctSettings,
    Search,
    SearchStatus,
    Session,
)
from .strategies import DIRECTION_OF, STRATEGIES
from .task import (
    DTYPE_BYTES,
    Constraints,
    Distribution,
    FunctionReference,
    InputSpec,
    KernelBenchReference,
    Parameter,
    Reference,
    StrategyParameters,
    SymbolDomain,
    Task,
    Template,
    TensorSpec,
    Tolerance,
)
from .view import BestView, NodeView, PendingView, SearchView

__all__ = [
    "CONTENT_ID_HEX_DIGITS", "DIRECTION_OF", "DTYPE_BYTES", "MAX_SOURCE_CHARS", "NOT_ABOUT_THE_CANDIDATE",
    "STRATEGIES", "AgentSlots", "Artifact", "BestConfirmed", "BestRefuted", "BestView", "Bottleneck", "Candidate",
    "CompileReport", "Constraints", "ContentId", "CpuProfile", "Device", "DeviceKind", "Digest", "Distribution",
    "Edge", "Evaluation", "Event", "EventBody", "Finding", "FunctionReference", "InputSpec", "InstructionMix",
    "Isolation", "Job", "JobStatus", "KernelBenchReference", "KernelProfile", "KernelResources", "Language",
    "LaunchFigures", "LaunchPlan", "LaunchStep", "Lease", "LeaseClosed", "LeaseOpened", "LeaseStatus",
    "MeasuredTiming", "MemoryFigures", "Metric", "Node", "NodeView", "OutputError", "Parameter", "PendingView",
    "ProcessIdentity", "ProfileTotals", "ProfilingReport", "Proposal", "ProposalsSubmitted", "PuctSettings", "Record",
    "Reference", "Roofline", "RoundAborted", "RoundJudged", "RoundStarted", "ScratchBuffer", "Search", "SearchEnded",
    "SearchResumed", "SearchStarted", "SearchStatus", "SearchView", "Session", "ShapeResult", "ShapeTiming", "Stall",
    "Status", "StoredRecord", "StrategyParameters", "SymbolDomain", "Task", "Template", "TensorMap", "TensorSpec",
    "Tier", "Timing", "Tolerance", "UnavailableProfile",
    "UnavailableTiming", "Verdict", "WarpFigures", "canonical_json", "content_id",
    "evaluation_key",
]  # fmt: skip
